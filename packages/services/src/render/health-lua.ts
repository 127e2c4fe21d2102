/** The health of a claim for Argo CD, as a script that gets the claim as `obj`. */
import type { HealthRules } from "./health-rules.ts";

/**
 * Argo CD runs it without the standard libraries, for a second at most. It never fails, whatever the status is: a failure shows as Unknown,
 * and a message that is no text is one.
 */
export function healthLua({ failed, outOfSync, over, paused }: HealthRules): string {
  return `${head}
local failed = ${luaSet(failed)}
local outOfSync = ${luaSet(outOfSync)}
local over = ${luaSet(over)}
local paused = ${luaSet(paused)}

${body}`;
}

/** `{ ["A"] = true }`; the words are reasons of conditions, which need no escape. */
function luaSet(words: readonly string[]): string {
  return words.length === 0 ? "{}" : `{ ${words.map((word) => `["${word}"] = true`).join(", ")} }`;
}

const head = `local function map(value)
  if type(value) == "table" then return value end
  return {}
end

local function text(value)
  if type(value) == "string" then return value end
  return ""
end

local function health(status, message)
  return { status = status, message = message }
end
`;

const body = `local generation = map(obj.metadata).generation
local status = map(obj.status)

local function of(name)
  for _, entry in pairs(map(status.conditions)) do
    local condition = map(entry)
    if condition.type == name then
      local number = condition.observedGeneration
      if type(number) == "number" and type(generation) == "number" and number < generation then return {} end
      return condition
    end
  end
  return {}
end

local function words(condition)
  local reason, message = text(condition.reason), text(condition.message)
  if reason == "" then return message end
  if message == "" then return reason end
  return reason .. ": " .. message
end

if map(obj.metadata).deletionTimestamp ~= nil then
  return health("Progressing", "it is being deleted")
end

local ready, synced, stalled = of("Ready"), of("Synced"), of("Stalled")
local readyReason, syncedReason = text(ready.reason), text(synced.reason)

if status.observedGeneration ~= nil and status.observedGeneration ~= generation then
  local said = words(ready)
  if said == "" then said = "nothing was said of this spec yet" end
  return health("Progressing", said)
end
if of("Reconciling").status == "True" then
  return health("Progressing", words(of("Reconciling")))
end
if stalled.status == "True" then
  return health("Degraded", words(stalled))
end
if ready.status == "False" and failed[readyReason] then
  return health("Degraded", words(ready))
end
if synced.status == "False" and outOfSync[syncedReason] then
  return health("Degraded", words(synced))
end
if ready.status == "False" and over[readyReason] then
  return health("Healthy", words(ready))
end
if paused[readyReason] then
  return health("Suspended", words(ready))
end
if paused[syncedReason] then
  return health("Suspended", words(synced))
end
if ready.status == "True" then
  return health("Healthy", words(ready))
end
if ready.status ~= nil then
  return health("Progressing", words(ready))
end
return health("Progressing", "waiting for its first status")
`;
