function merge(defaults, given) {
  for (const key in given) {
    if (typeof given[key] === 'object' && typeof defaults[key] === 'object') merge(defaults[key], given[key]);
    else defaults[key] = given[key];
  }
  return defaults;
}

module.exports = { merge };
