-- What Sweet's script is about: bodies that attract each other, and counting the
-- short sequences of a long one.

local bodies = {}
for i = 1, 5 do
  bodies[i] = { x = i, y = i * i % 7, z = i * 3 % 5, vx = 0, vy = 0, vz = 0, mass = 1 / i }
end

local function advance(dt)
  for i = 1, #bodies do
    local a = bodies[i]
    for j = i + 1, #bodies do
      local b = bodies[j]
      local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
      local square = dx * dx + dy * dy + dz * dz + 0.01
      local pull = dt / (square * math.sqrt(square))
      a.vx, a.vy, a.vz = a.vx - dx * b.mass * pull, a.vy - dy * b.mass * pull, a.vz - dz * b.mass * pull
      b.vx, b.vy, b.vz = b.vx + dx * a.mass * pull, b.vy + dy * a.mass * pull, b.vz + dz * a.mass * pull
    end
  end
  for _, b in ipairs(bodies) do
    b.x, b.y, b.z = b.x + dt * b.vx, b.y + dt * b.vy, b.z + dt * b.vz
  end
end

local seed = 42
local function sequence(n)
  local letters = { "a", "c", "g", "t" }
  local t = {}
  for i = 1, n do
    seed = (seed * 3877 + 29573) % 139968
    t[i] = letters[seed % 4 + 1]
  end
  return table.concat(t)
end

local function count(text, length)
  local found = {}
  for i = 1, #text - length + 1 do
    local part = string.sub(text, i, i + length - 1)
    found[part] = (found[part] or 0) + 1
  end
  local parts = {}
  for part in pairs(found) do parts[#parts + 1] = part end
  table.sort(parts, function(a, b) return found[a] > found[b] or found[a] == found[b] and a < b end)
  return parts
end

function work()
  for _ = 1, 20 do advance(0.001) end
  local text = sequence(600)
  for length = 1, 4 do count(text, length) end
end
