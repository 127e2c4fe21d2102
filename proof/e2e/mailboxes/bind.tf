variable "folder" { type = string }
variable "binding_id" { type = string }
variable "access" { type = string }

resource "terraform_data" "password" {
  input = uuid()
  lifecycle { ignore_changes = [input] }
}

resource "terraform_data" "login" {
  input = { file = "${var.folder}/login-${var.binding_id}", access = var.access }
  provisioner "local-exec" {
    command = "printf '%s\\n' '${self.input.access}' > \"$MAILBOXES/${self.input.file}\""
  }
  provisioner "local-exec" {
    when    = destroy
    command = "rm \"$MAILBOXES/${self.input.file}\""
  }
}

output "username" { value = "login-${var.binding_id}" }
output "password" {
  value     = terraform_data.password.output
  sensitive = true
}
