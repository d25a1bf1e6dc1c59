const KEPT_OUT = new Set(['__proto__', 'constructor', 'prototype']);
const DEEPEST = 100;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function copy(value, depth) {
  if (depth > DEEPEST) throw new RangeError('too deep');
  if (Array.isArray(value)) return value.map((one) => copy(one, depth + 1));
  return isObject(value) ? mergeAt({}, value, depth) : value;
}

function mergeAt(defaults, given, depth) {
  if (depth > DEEPEST) throw new RangeError('too deep');
  const merged = {};
  for (const key of Object.keys(defaults)) if (!KEPT_OUT.has(key)) merged[key] = copy(defaults[key], depth + 1);
  for (const key of Object.keys(given)) {
    const value = given[key];
    if (KEPT_OUT.has(key) || value === undefined) continue;
    const both = isObject(value) && Object.hasOwn(merged, key) && isObject(merged[key]);
    merged[key] = both ? mergeAt(merged[key], value, depth + 1) : copy(value, depth + 1);
  }
  return merged;
}

module.exports = { merge: (defaults, given) => mergeAt(defaults, given, 1) };
