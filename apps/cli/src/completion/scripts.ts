/** The scripts by which shells ask the program what may come next. Each only hands words to it and reads its answer. */

const scripts: Readonly<Record<string, (name: string) => string>> = {
  bash,
  zsh,
  fish,
  powershell,
  kubectl: () => '#!/bin/sh\nexec kubectl-bind __complete "$@"\n',
};

/** Names of the supported shells. */
export const shells: readonly string[] = Object.keys(scripts);

/** The script of a shell for a program. Throws `RangeError` for a shell that is not in `shells`. */
export function completionScript(shell: string, program: string): string {
  const script = scripts[shell];
  if (script === undefined) throw new RangeError(`no completion for ${JSON.stringify(shell)}`);
  return script(program);
}

const functionOf = (program: string): string => `_${program.replaceAll("-", "_")}_words`;

/** Returns the script for bash. On bash 3.2 of macOS, which has no `compopt`, files are not completed. */
function bash(program: string): string {
  return String.raw`# Completes ${program} in bash.
${functionOf(program)}() {
  local line="\${COMP_LINE:0:COMP_POINT}" words=() word shown candidate directive=4
  read -r -a words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  word="\${words[\${#words[@]}-1]}"
  # Bash replaces only what stands behind the last of these.
  shown="\${word%"\${word##*[=:]}"}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    case "$candidate" in
      :*) directive="\${candidate#:}" ;;
      *)
        candidate="\${candidate%%$'\t'*}"
        COMPREPLY+=("\${candidate#"$shown"}")
        ;;
    esac
  done < <(${program} __complete "\${words[@]:1}" 2> /dev/null)
  if (( \${#COMPREPLY[@]} == 0 )) && type compopt > /dev/null 2>&1; then
    (( directive & 16 )) && compopt -o dirnames
    (( directive & 20 )) || compopt -o default
  fi
}
complete -F ${functionOf(program)} ${program}
`.replaceAll("\\${", "${");
}

function zsh(program: string): string {
  return String.raw`#compdef ${program}
# Completes ${program} in zsh.
${functionOf(program)}() {
  local -a answer values shown
  local line
  answer=("\${(@f)$(${program} __complete "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  local -i directive=\${answer[-1]#:}
  for line in "\${(@)answer[1,-2]}"; do
    values+=("\${line%%$'\t'*}")
    shown+=("\${line/$'\t'/  -- }")
  done
  if (( $#values )); then
    compadd -l -d shown -a values
  elif (( directive & 16 )); then
    _files -/
  elif (( ! (directive & 4) )); then
    _files
  fi
}
compdef ${functionOf(program)} ${program}
if [[ "\${funcstack[1]}" == _${program} ]]; then ${functionOf(program)} "$@"; fi
`.replaceAll("\\${", "${");
}

function fish(program: string): string {
  return String.raw`# Completes ${program} in fish.
function ${functionOf(program)}
    set -l words (commandline -opc) (commandline -ct)
    set -l answer (${program} __complete $words[2..-1] 2> /dev/null)
    test (count $answer) -gt 0; or return
    set -l directive (string sub -s 2 -- $answer[-1])
    set -e answer[-1]
    if test (count $answer) -gt 0
        printf '%s\n' $answer
    else if test $directive -eq 16
        __fish_complete_directories (commandline -ct)
    else if test $directive -eq 0
        __fish_complete_path (commandline -ct)
    end
end
complete -c ${program} -f -a '(${functionOf(program)})'
`;
}

/** An empty last word would get lost on its way to the program before PowerShell 7.3, so it is written there as its quotes. */
function powershell(program: string): string {
  return String.raw`# Completes ${program} in PowerShell.
Register-ArgumentCompleter -Native -CommandName '${program}', '${program}.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        Select-Object -Skip 1 |
        ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') {
        $words += if ($PSVersionTable.PSVersion -lt [version]'7.3') { '""' } else { '' }
    }
    ${program} __complete @words 2> $null |
        Where-Object { -not $_.StartsWith(':') } |
        ForEach-Object {
            $value, $text = $_ -split "\`t", 2
            if (-not $text) { $text = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
        }
}
`.replaceAll("\\`", "`");
}
