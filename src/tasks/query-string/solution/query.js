function decoded(text) {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

function parse(text) {
  const found = Object.create(null);
  for (const part of text.replace(/^\?/, '').split('&')) {
    const at = part.indexOf('=');
    const name = decoded(at < 0 ? part : part.slice(0, at));
    if (name === '') continue;
    const value = at < 0 ? '' : decoded(part.slice(at + 1));
    found[name] = name in found ? [found[name], value].flat() : value;
  }
  return found;
}

module.exports = { parse };
