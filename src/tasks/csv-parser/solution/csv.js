const fs = require('node:fs');

class Wrong extends Error {}

function parse(text) {
  const rows = [];
  let at = 0;
  const atEnd = () => at === text.length || text[at] === '\n' || text[at] === '\r';

  function field() {
    let value = '';
    if (text[at] !== '"') {
      while (!atEnd() && text[at] !== ',') {
        if (text[at] === '"') throw new Wrong();
        value += text[at++];
      }
      return value;
    }
    at++;
    for (;;) {
      if (at === text.length) throw new Wrong();
      if (text[at] !== '"') value += text[at++];
      else if (text[at + 1] === '"') {
        value += '"';
        at += 2;
      } else break;
    }
    at++;
    if (!atEnd() && text[at] !== ',') throw new Wrong();
    return value;
  }

  while (at < text.length) {
    const row = [field()];
    while (text[at] === ',') {
      at++;
      row.push(field());
    }
    rows.push(row);
    if (text[at] === '\r' && text[at + 1] === '\n') at++;
    at++;
  }
  return rows;
}

try {
  console.log(JSON.stringify(parse(fs.readFileSync(0, 'utf8').replace(/^\ufeff/, ''))));
} catch (error) {
  if (!(error instanceof Wrong)) throw error;
  process.exitCode = 2;
}
