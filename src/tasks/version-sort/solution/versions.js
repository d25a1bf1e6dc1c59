const fs = require('node:fs');

const NUMBER = '(0|[1-9][0-9]*)';
const PRE = '(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)';
const FORM = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${PRE}(?:\\.${PRE})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`);

const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const isNumber = (part) => /^[0-9]+$/.test(part);

function compareParts(a, b) {
  if (isNumber(a) && isNumber(b)) return order(BigInt(a), BigInt(b));
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return order(a, b);
}

function compare(a, b) {
  for (let n = 0; n < 3; n++) {
    const difference = order(a.numbers[n], b.numbers[n]);
    if (difference !== 0) return difference;
  }
  if (a.pre === null || b.pre === null) return order(a.pre === null ? 1 : 0, b.pre === null ? 1 : 0);
  for (let n = 0; n < Math.min(a.pre.length, b.pre.length); n++) {
    const difference = compareParts(a.pre[n], b.pre[n]);
    if (difference !== 0) return difference;
  }
  return a.pre.length - b.pre.length;
}

const versions = [];
for (const text of fs.readFileSync(0, 'utf8').split('\n')) {
  if (text === '') continue;
  const match = FORM.exec(text);
  if (match === null) {
    console.error(text);
    process.exitCode = 1;
  } else versions.push({ text, numbers: match.slice(1, 4).map(BigInt), pre: match[4]?.split('.') ?? null });
}
for (const { text } of versions.sort(compare)) console.log(text);
