variable "instance_id" { type = string }
variable "domain" { type = string }
variable "retention_days" { type = number }
variable "greeting" { type = string }
variable "quota_mb" { type = number }

resource "terraform_data" "mailbox" {
  input = var.instance_id
  provisioner "local-exec" {
    command = "mkdir -p \"$MAILBOXES/${self.input}\""
  }
  provisioner "local-exec" {
    when    = destroy
    command = "rm -r \"$MAILBOXES/${self.input}\""
  }
}

resource "terraform_data" "settings" {
  triggers_replace = { days = var.retention_days, quota = var.quota_mb, greeting = var.greeting }
  provisioner "local-exec" {
    command = "printf '%s' '${jsonencode(self.triggers_replace)}' > \"$MAILBOXES/${terraform_data.mailbox.output}/settings.json\""
  }
}

output "folder" { value = terraform_data.mailbox.output }
output "host" { value = "mail.${var.domain}" }
output "port" { value = 993 }
output "address" { value = "postmaster@${var.domain}" }
output "retention" { value = "${var.retention_days} days" }
output "quota_mb" { value = var.quota_mb }
