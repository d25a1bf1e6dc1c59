function equal(a, b, met = new Map()) {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const with_ = met.get(a) ?? new Set();
  if (with_.has(b)) return true;
  met.set(a, with_.add(b));
  if (a instanceof Date) return equal(a.getTime(), b.getTime());
  if (a instanceof Set) return a.size === b.size && [...a].every((one) => b.has(one));
  if (a instanceof Map) return a.size === b.size && [...a].every(([key, one]) => b.has(key) && equal(one, b.get(key), met));
  if (Array.isArray(a) && a.length !== b.length) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key], met));
}

module.exports = { equal };
