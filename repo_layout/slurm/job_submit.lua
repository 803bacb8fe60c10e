-- What Slurm asks about every job: may it stand on reclaimable capacity? Answered from ebbtide_contracts.lua beside
-- this file, which holds the admitted contracts of one verified bundle and is read again when it changes. A job that is
-- admitted gets what makes it land on its workload's own instances. Runs in Lua 5.1 to 5.4. What it answers to each way
-- around it, and what happens when it is broken or missing, stands in docs/admission-slurm.md.
--
-- Slurm lets a job in when this script fails while running, so nothing here runs outside a protected call.

local FORMAT = 1
local MARK = "ebbtide contract:"
local FEATURE = "ebbtide_"
local RETRY_S = 10 -- a table that was not taken is tried again this often, or at once when it changes
local LARGEST_TABLE = 8388608 -- bytes; 5,000 contracts take 1.5 MB
local LONGEST_TABLE = 20000000 -- steps of the interpreter, a tenth of a second; 5,000 contracts take 123,000
local NAMES_SHOWN = 6
local ALTERNATES = 8 -- partitions in a row that pass their jobs on; more count as reclaimable
local WHOLES = 1024 -- heterogeneous jobs remembered while they are submitted

local NO_VAL16, NO_VAL = 65534, 4294967294

local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local path = folder .. "ebbtide_contracts.lua"

local held = nil     -- the table in force
local stamp = nil    -- what the file looked like when it was last read
local trouble = nil  -- why the file of now is not in force
local tried = 0
local whole, wholes = {}, 0 -- the heterogeneous jobs that are being submitted, by who submits

-- The table ------------------------------------------------------------------------------------------------------

-- First line, last line and size: a few bytes, read for every job.
local function look()
  local file, why = io.open(path, "rb")
  if not file then return nil, why end
  local first = file:read(160) or ""
  local size = file:seek("end") or 0
  file:seek("set", math.max(0, size - 80))
  local last = file:read(80) or ""
  file:close()
  return first .. "\n" .. last .. "\n" .. size, nil, size
end

local function compile(text)
  if text:sub(1, 1) == "\27" then return nil, "it is not text" end
  if setfenv then
    local chunk, why = loadstring(text, "=ebbtide_contracts.lua")
    return chunk and setfenv(chunk, {}), why
  end
  return load(text, "=ebbtide_contracts.lua", "t", {})
end

local KINDS = {
  digest = "string", team = "string", tier = "string", restart = "string", partition = "string", account = "string",
  family = "string",
  drain = "number", gang = "number", maximum = "number", vcpu = "number", memory = "number", gpu = "number",
  expires = "number",
}

local function check(found)
  if type(found) ~= "table" or type(found.workloads) ~= "table" then error("it holds no contracts", 0) end
  if found.format ~= FORMAT then error("its format is not " .. FORMAT .. "; render script and table together", 0) end
  for _, key in ipairs({"version", "expires"}) do
    if type(found[key]) ~= "number" then error(key .. " is missing", 0) end
  end
  if type(found.partitions) ~= "table" then error("partitions are missing", 0) end
  for name, entry in pairs(found.workloads) do
    if type(name) ~= "string" or type(entry) ~= "table" then error("an entry is no contract", 0) end
    for key, kind in pairs(KINDS) do
      if type(entry[key]) ~= kind then error("contract " .. name .. " has no " .. key, 0) end
    end
    if entry.vcpu < 1 or entry.memory < 1 or entry.maximum < 1 then error("contract " .. name .. " has no size", 0) end
  end
  if held and found.version < held.version then
    error("its version " .. found.version .. " is older than " .. held.version .. " in force", 0)
  end
  return found
end

local function read(size)
  if size > LARGEST_TABLE then error("it is larger than " .. LARGEST_TABLE .. " bytes", 0) end
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a") or ""
  file:close()
  local seal = text:match("^%-%- ebbtide contracts (%x+)\n")
  if not seal or text:sub(-#seal - 12) ~= "-- the end " .. seal .. "\n" then error("it is cut short or not ours", 0) end
  local chunk, why = compile(text)
  if not chunk then error(why, 0) end
  debug.sethook(function() error("it does not end", 0) end, "", LONGEST_TABLE)
  local ok, found = pcall(chunk)
  debug.sethook()
  if not ok then error(found, 0) end
  return check(found)
end

local function refresh()
  local now = os.time()
  local seen, why, size = look()
  local lately = math.abs(now - tried) < RETRY_S -- a clock that was set back counts as long ago
  if seen and seen == stamp and (not trouble or lately) then return end
  if not seen and stamp == false and lately then return end
  local ok, found = false, why
  if seen then ok, found = pcall(read, size) end
  stamp, tried = seen or false, now
  if ok then
    held, trouble = found, nil
    slurm.log_info("ebbtide: contracts of version %d are in force", held.version)
    return
  end
  trouble = tostring(found)
  local instead = held and string.format("version %d stays in force", held.version)
    or "no job enters reclaimable partitions"
  slurm.log_error("%s", "ebbtide: " .. path .. " is not taken: " .. trouble .. "; " .. instead)
end

-- What is reclaimable --------------------------------------------------------------------------------------------

local function each(text)
  return (text or ""):gmatch("[^,%s]+")
end

-- A partition is ours when a contract names it, or when it holds an instance: whoever put it there.
local function holds_instances(name, parts)
  if RENDERED.partitions[name] or (held and held.partitions[name]) then return true end
  local part = parts and parts[name]
  local nodes = part and part.nodes
  return nodes ~= nil and nodes:find(RENDERED.instances, 1, true) ~= nil
end

-- One that takes no jobs passes them to its alternate: so many times at most.
local function is_ours(name, parts)
  for _ = 1, ALTERNATES do
    if holds_instances(name, parts) then return true end
    local part = parts and parts[name]
    local takes_jobs = not part or not part.state_up or part.state_up % 2 == 1
    if takes_jobs or not part.alternate or part.alternate == "" then return false end
    name = part.alternate
  end
  return true
end

-- Words ----------------------------------------------------------------------------------------------------------

local function refuse(what, remedy)
  error({what = what, remedy = remedy}, 0)
end

-- Text of users and files on its way to a terminal and a log: no control characters, not endless.
local function plain(text)
  return (tostring(text):sub(1, 200):gsub("[%c\127-\255]", "?"))
end

-- Where Slurm sends a job that names no partition: to the one of its reservation, and only then to the default.
-- Slurm tells us of reservations by the second: one made in the same second as another change
-- stays unknown here until the next change.
local function unnamed_partition(job, parts)
  local wanted = job.reservation
  local kept = wanted and wanted ~= "" and slurm.reservations and slurm.reservations[wanted]
  if not kept and wanted and wanted ~= "" and slurm.reservations and not wanted:find(",", 1, true) then
    refuse("slurmctld has not told of reservation " .. plain(wanted) .. ", so that its partition is not known",
      "name the partition with -p, or a contract with --comment=contract:NAME")
  end
  if kept and kept.partition and kept.partition ~= "" then return kept.partition end
  for name, part in pairs(parts or {}) do
    if part.flag_default == 1 then return name end
  end
  return nil
end

local function names_our_feature(text)
  return text ~= nil and text:find(FEATURE, 1, true) ~= nil
end

local function ours_among(partition, parts)
  for name in each(partition) do
    if is_ours(name, parts) then return name end
  end
  return nil
end

local function candidates(partition, account)
  local names = {}
  for name, entry in pairs(held.workloads) do
    if (not partition or entry.partition == partition) and (not account or entry.account == account) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  local more = #names > NAMES_SHOWN and string.format(" and %d more", #names - NAMES_SHOWN) or ""
  return #names == 0 and "none" or table.concat(names, ", ", 1, math.min(#names, NAMES_SHOWN)) .. more
end

local function file_of(name, entry)
  return string.format("contracts/%s/%s.yaml", plain(entry.team), plain(name))
end

-- The contract ---------------------------------------------------------------------------------------------------

local function named(comment)
  local word = (comment or ""):match("^%s*contract:(%S+)")
  if not word then return nil end
  local name, digest = word:match("^([^@]+)@(%x+)$")
  return name or word, digest
end

local function entry_of(job, where)
  local name, digest = named(job.comment)
  if not name then
    refuse("partition " .. plain(where) .. " is reclaimable capacity, and this job names no contract",
      "add --comment=contract:NAME; contracts for this partition: " .. candidates(where, job.account)
      .. " (a new one is contracts/<team>/<workload>.yaml in the estate)")
  end
  local entry = held.workloads[name]
  if not entry then
    refuse("no contract " .. plain(name) .. " is admitted on this cluster",
      "contracts for this partition: " .. candidates(where, job.account)
      .. "; see `ebbtide explain contract " .. plain(name) .. "` for where it runs")
  end
  if digest and (#digest < 8 or entry.digest:sub(1, #digest) ~= digest:lower()) then
    refuse("contract " .. plain(name) .. " was altered: this job means " .. plain(digest) .. ", in force is "
      .. entry.digest:sub(1, 12),
      "read " .. file_of(name, entry) .. " again and name contract:" .. plain(name) .. "@" .. entry.digest:sub(1, 12))
  end
  local now = os.time()
  if held.expires > 0 and now >= held.expires then
    refuse("the bundle of contracts, version " .. held.version .. ", has expired",
      "whoever runs this cluster publishes a newer one: `ebbtide sign`, then `ebbtide admission`")
  end
  if entry.expires > 0 and now >= entry.expires then
    refuse("contract " .. plain(name) .. " has expired", "renew it in " .. file_of(name, entry))
  end
  return name, entry
end

-- Size -----------------------------------------------------------------------------------------------------------

local function known(value, none)
  if value == nil or value == 0 or value >= none then return nil end
  return value
end

local SCALE = {[""] = 1, k = 1024, m = 1048576}

-- GPUs of "gres:gpu:h100:4,gres:shard:1": 4; a GPU without a number is one.
local function gpus_in(text)
  local sum = 0
  for word in each(text) do
    word = word:gsub("^gres[:/]", "")
    if word == "gpu" or word:match("^gpu[:/=]") then
      local digits, unit = word:match("[:=](%d+)([kKmM]?)$")
      sum = sum + (digits and tonumber(digits) * SCALE[unit:lower()] or 1)
    end
  end
  return sum
end

local GPU_FIELDS = {"tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket"}

-- The type of "gres:gpu:h100:4", when it is not `family`.
local function other_type(job, family)
  for _, field in ipairs(GPU_FIELDS) do
    for word in each(job[field]) do
      local kind = word:gsub("^gres[:/]", ""):match("^gpu:(%a[^:=]*)")
      if kind and kind ~= family then return kind end
    end
  end
  return nil
end

local function tasks_of(job, nodes)
  local tasks = known(job.num_tasks, NO_VAL)
  if tasks then return math.max(tasks, nodes) end
  return nodes * (known(job.ntasks_per_node, NO_VAL16) or 1)
end

-- The least that the job needs, whatever nodes it gets; memory in MiB.
local function demand(job)
  local nodes = known(job.min_nodes, NO_VAL) or 1
  local tasks = tasks_of(job, nodes)
  local per_task = known(job.cpus_per_task, NO_VAL16) or 1
  local gpus = math.max(gpus_in(job.tres_per_job), gpus_in(job.tres_per_node) * nodes,
    gpus_in(job.tres_per_task) * tasks, gpus_in(job.tres_per_socket) * nodes)
  local by_gpu = known(job.ntasks_per_tres, NO_VAL16)
  if by_gpu and gpus > 0 and not known(job.num_tasks, NO_VAL) then tasks = math.max(tasks, gpus * by_gpu) end
  if by_gpu and gpus == 0 then gpus = math.ceil(tasks / by_gpu) end
  local cpus = math.max(tasks * per_task, known(job.min_cpus, NO_VAL) or 0,
    nodes * (known(job.pn_min_cpus, NO_VAL16) or 0), gpus * gpus_in(job.cpus_per_tres))
  local memory = (job.min_mem_per_node or 0) * nodes
  local task_memory = tasks == nodes and (job.min_mem_per_node or 0) or 0
  if job.min_mem_per_cpu then
    memory, task_memory = job.min_mem_per_cpu * cpus, job.min_mem_per_cpu * per_task
  end
  memory = math.max(memory, gpus * gpus_in(job.mem_per_tres))
  local task = {cpus = per_task, memory = task_memory, gpus = gpus_in(job.tres_per_task)}
  return {cpus = cpus, memory = memory, gpus = gpus, nodes = nodes, task = task}
end

local function amount(need)
  local nodes = need.nodes and need.nodes > 1 and string.format(" on %.0f nodes", need.nodes) or ""
  return string.format("%.0f CPUs, %.0f MiB and %.0f GPUs%s", need.cpus, need.memory, need.gpus, nodes)
end

local function unit_text(entry)
  return amount({cpus = entry.vcpu, memory = entry.memory, gpus = entry.gpu})
end

local function units_of(name, entry, job)
  local need = demand(job)
  if need.gpus > 0 and entry.gpu == 0 then
    refuse("this job asks for GPUs, and contract " .. plain(name) .. " has none",
      "drop the GPUs, or set unit.gpu in " .. file_of(name, entry))
  end
  local kind = entry.family ~= "" and other_type(job, entry.family)
  if kind then
    refuse("this job asks for GPUs of type " .. plain(kind) .. ", and contract " .. plain(name) .. " has "
      .. plain(entry.family), "ask for gpu:" .. plain(entry.family) .. ":N, or change eligibility.gpuFamily in "
      .. file_of(name, entry))
  end
  local task = need.task
  if task.cpus > entry.vcpu or task.memory > entry.memory or task.gpus > entry.gpu then
    refuse("one task asks for " .. amount(task) .. ", and a unit of " .. plain(name) .. " has " .. unit_text(entry),
      "ask for less (--cpus-per-task, --mem, --gpus-per-task), or raise unit in " .. file_of(name, entry))
  end
  -- A node holds whole units, so that each node of the job takes one at least.
  local units = math.max(need.nodes, math.ceil(need.cpus / entry.vcpu), math.ceil(need.memory / entry.memory),
    entry.gpu > 0 and math.ceil(need.gpus / entry.gpu) or 0)
  if units > entry.maximum then
    refuse("this job needs " .. amount(need) .. ", " .. string.format("%.0f", units) .. " units of " .. plain(name)
      .. ", and its maximum is " .. entry.maximum,
      "ask for less, or raise maximum in " .. file_of(name, entry))
  end
  if entry.gang > 1 and units % entry.gang ~= 0 then
    refuse("this job takes " .. units .. " units, and " .. plain(name) .. " runs in whole gangs of " .. entry.gang,
      "ask for a multiple of " .. entry.gang .. " units of " .. unit_text(entry)
      .. ", or change eligibility.gang in " .. file_of(name, entry))
  end
  return units
end

-- Elements of "1-10:3,20%4", and the limit on how many run at once. Slurm takes brackets around them as well. What is
-- written in another way counts as endless, so that the limit is ours.
local function array_of(text)
  local list, limit = text:match("^([^%%]*)%%?(%d*)$")
  list = (list or text:match("^[^%%]*")):gsub("[%[%]]", "")
  local count = 0
  for part in each(list) do
    local first, last, step = part:match("^(%d+)%-(%d+):?(%d*)$")
    if first then
      count = count + math.floor(math.max(0, last - first) / math.max(1, tonumber(step) or 1)) + 1
    else
      count = part:find("%D") and math.huge or count + 1
    end
  end
  return count, list, tonumber(limit or "")
end

-- An array holds as many units at once as may run at once: the rest of it waits.
local function hold_array(name, entry, job, units)
  local count, list, limit = array_of(job.array_inx)
  local most = math.floor(entry.maximum / units)
  if math.min(count, limit and limit > 0 and limit or count) <= most then return end
  job.array_inx = list .. "%" .. string.format("%.0f", most)
  slurm.log_user("%s", "ebbtide: at most " .. string.format("%.0f", most) .. " elements of this array run at once: "
    .. plain(name) .. " has a maximum of " .. entry.maximum .. " units")
end

-- The number of this part of a heterogeneous job, nil for any other job. Slurm asks about the parts in order, from 0,
-- one right after the other but for those of other submissions; it gives no number to the whole.
local function part_of(job)
  local offset = job.het_job_offset
  return offset and offset < NO_VAL and offset or nil
end

-- What is known of the job that this part belongs to: units by workload, and whether it is a batch job.
local function whole_of(job, first)
  local key = tostring(job.user_id) .. "@" .. tostring(job.alloc_node)
  if first or not whole[key] then
    if wholes >= WHOLES then whole, wholes = {}, 0 end
    whole[key], wholes = {units = {}, batch = job.script ~= nil}, wholes + 1
  end
  return whole[key]
end

local function hold_heterogeneous(name, entry, job, units)
  if not part_of(job) then return end
  local counted = whole_of(job).units
  local sum = (counted[name] or 0) + units
  counted[name] = sum
  if sum > entry.maximum then
    refuse("the parts of this job take " .. string.format("%.0f", sum) .. " units of " .. plain(name)
      .. ", and its maximum is " .. entry.maximum, "ask for less, or raise maximum in " .. file_of(name, entry))
  end
end

-- Restart --------------------------------------------------------------------------------------------------------

local function hold_restart(name, entry, job)
  local batch = job.script ~= nil or (part_of(job) and whole_of(job).batch) -- the first part alone carries the script
  if entry.restart == "never" then
    if job.requeue == 1 then
      refuse("--requeue asks for what contract " .. plain(name) .. " rules out: restart: never",
        "drop --requeue, or change restart in " .. file_of(name, entry))
    end
    job.requeue = 0
    return
  end
  if job.requeue == 0 then
    refuse("--no-requeue contradicts restart: " .. entry.restart .. " of contract " .. plain(name)
      .. ": Slurm would book a reclaimed job as done",
      "drop --no-requeue (#SBATCH --no-requeue), or change restart in " .. file_of(name, entry))
  end
  if not batch and entry.restart == "requeue" then
    refuse("contract " .. plain(name) .. " promises restart: requeue, and Slurm requeues batch jobs only",
      "submit a script with sbatch, or change restart in " .. file_of(name, entry))
  end
  if batch then
    job.requeue = 1
  else
    slurm.log_user("%s", "ebbtide: an srun or salloc job is not started again when its node is taken back")
  end
end

-- Placement ------------------------------------------------------------------------------------------------------

-- The job's own constraint and the feature that only this workload's instances carry.
local function bound(option, asked, feature)
  if not asked or asked == "" then return feature end
  if asked == feature then return feature end
  if names_our_feature(asked) then
    refuse(option .. "=" .. plain(asked) .. " names instances of Ebbtide", "drop it: admission adds what is needed")
  end
  if asked:find("[%[%]%*%(%)]") or (asked:find("|", 1, true) and asked:find("[&,]")) then
    refuse(option .. "=" .. plain(asked) .. " cannot be joined with the instances of a contract",
      "use features joined by & alone, or by | alone")
  end
  if asked:find("|", 1, true) then return "(" .. asked .. ")&" .. feature end
  return asked .. "&" .. feature
end

local function place(name, entry, job)
  local feature = FEATURE .. name
  job.features = bound("--constraint", job.features, feature)
  -- A preference that can be met stands in for the constraint, so it is bound as well.
  if job.prefer and job.prefer ~= "" then job.prefer = bound("--prefer", job.prefer, feature) end
  job.partition = entry.partition
  job.account = entry.account
  job.admin_comment = MARK .. name .. "@" .. entry.digest:sub(1, 12)
    .. " version:" .. string.format("%.0f", held.version)
end

-- Judgement ------------------------------------------------------------------------------------------------------

-- The reclaimable partition, or partition of a contract, that this job is for; nil when it is none of ours.
local function destination(job, parts)
  if job.partition and job.partition ~= "" then
    local name = ours_among(job.partition, parts)
    if name then return name end
  else
    local wanted = held and held.workloads[named(job.comment) or ""]
    if wanted then return wanted.partition end
    local name = unnamed_partition(job, parts)
    if name and is_ours(name, parts) then return name end
  end
  if names_our_feature(job.features) or names_our_feature(job.prefer) then
    return job.partition or unnamed_partition(job, parts) or "?"
  end
  return nil
end

local function judge(job, where)
  if not held then
    refuse("partition " .. plain(where) .. " is reclaimable capacity, and its contracts cannot be read: "
      .. plain(trouble), "whoever runs this cluster renders them: `ebbtide admission`; other partitions take jobs")
  end
  local name, entry = entry_of(job, where)
  if job.partition and job.partition ~= "" and job.partition ~= entry.partition then
    refuse("contract " .. plain(name) .. " holds for partition " .. plain(entry.partition) .. ", and this job asks for "
      .. plain(job.partition), "use -p " .. plain(entry.partition) .. ", alone")
  end
  if job.account and job.account ~= "" and job.account:lower() ~= entry.account then -- Slurm lowers it as well
    refuse("contract " .. plain(name) .. " holds for account " .. plain(entry.account)
      .. ", and this job is charged to " .. plain(job.account), "use -A " .. plain(entry.account) .. ", or the contract of your own account")
  end
  hold_restart(name, entry, job)
  local units = units_of(name, entry, job)
  hold_heterogeneous(name, entry, job, units)
  if job.array_inx and job.array_inx ~= "" then hold_array(name, entry, job, units) end
  place(name, entry, job)
end

local DENIED = slurm.ESLURM_ACCESS_DENIED or slurm.ERROR

-- Runs `act`; what goes wrong in here counts as refused where it matters and as nothing elsewhere.
local function guarded(act, tell, concerns_us)
  local ok, fault = pcall(act)
  if ok then return slurm.SUCCESS end
  if type(fault) == "table" and fault.what then
    tell(fault)
    return DENIED
  end
  slurm.log_error("%s", "ebbtide: fault in job_submit.lua: " .. tostring(fault))
  local asked, ours = pcall(concerns_us)
  if asked and not ours then return slurm.SUCCESS end
  tell({what = "a fault in the check of reclaimable partitions",
    remedy = "slurmctld's log has it; other partitions work"})
  return DENIED
end

function slurm_job_submit(job, parts, uid)
  local function act()
    refresh()
    if part_of(job) == 0 then whole_of(job, true) end
    local where = destination(job, parts)
    if where then judge(job, where) end
  end
  local function tell(fault)
    slurm.log_user("%s", "ebbtide: " .. fault.what)
    slurm.log_user("%s", "ebbtide: " .. fault.remedy)
  end
  return guarded(act, tell, function() return destination(job, parts) end)
end

-- After admission ------------------------------------------------------------------------------------------------

-- What a contract was admitted with. A record shows some of it, so that saying the same again is no change.
local TEXTS = {
  "comment", "account", "partition", "features", "prefer", "admin_comment", "batch_features", "tres_per_job",
  "tres_per_node", "tres_per_socket", "tres_per_task", "cpus_per_tres", "mem_per_tres",
}
local NUMBERS = {
  requeue = NO_VAL16, cpus_per_task = NO_VAL16, pn_min_cpus = NO_VAL16, ntasks_per_node = NO_VAL16,
  ntasks_per_tres = NO_VAL16, num_tasks = NO_VAL, min_cpus = NO_VAL, max_cpus = NO_VAL, min_nodes = NO_VAL,
  max_nodes = NO_VAL,
}

local function changed(change, job)
  for _, field in ipairs(TEXTS) do
    if change[field] ~= nil and change[field] ~= job[field] then return field end
  end
  for field, none in pairs(NUMBERS) do
    local value = change[field]
    if value ~= nil and value < none and not (field == "ntasks_per_node" and value == 0) then return field end
  end
  if change.min_mem_per_node or change.min_mem_per_cpu then return "memory" end
  return nil
end

function slurm_job_modify(change, job, parts, uid)
  local admitted = false
  local function concerns_us()
    return (job.admin_comment or ""):sub(1, #MARK) == MARK or ours_among(job.partition, parts) ~= nil
      or ours_among(change.partition, parts) ~= nil
  end
  local function act()
    refresh()
    admitted = (job.admin_comment or ""):sub(1, #MARK) == MARK or ours_among(job.partition, parts) ~= nil
    local field = admitted and changed(change, job)
    if field then refuse(field .. ": settled at submission", "cancel the job and submit it again") end
    if not admitted and (ours_among(change.partition, parts) or names_our_feature(change.features)
        or names_our_feature(change.prefer)) then
      refuse("jobs enter reclaimable capacity by submission only", "submit the job there with its contract")
    end
  end
  local function tell(fault) -- Slurm does not carry words to whoever changes a job
    local who = string.format("ebbtide: job %.0f, uid %.0f: ", job.job_id, uid)
    slurm.log_info("%s", who .. fault.what .. "; " .. fault.remedy)
  end
  return guarded(act, tell, concerns_us)
end

pcall(refresh)
return slurm.SUCCESS
