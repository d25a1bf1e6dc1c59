// Prints the test files that a machine with more has left to run: those of which one of the reports of vitest says that something
// was skipped.
// Of the long ones, which .ci/seconds.json names, HOLDFAST_CI_PART chooses a part: 1 to 14, or `all`.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const PARTS = 14;

const testResults = process.argv.slice(2).flatMap((report) => JSON.parse(readFileSync(report, 'utf8')).testResults);
const seconds = JSON.parse(readFileSync(new URL('seconds.json', import.meta.url), 'utf8'));
const chosen = process.env.HOLDFAST_CI_PART ?? 'all';
if (chosen !== 'all' && !Array.from({ length: PARTS }, (_, n) => String(n + 1)).includes(chosen))
  throw new Error(`HOLDFAST_CI_PART is ${chosen}: expected 1 to ${PARTS}, or all`);

const isSkipped = ({ status }) => status === 'pending' || status === 'skipped' || status === 'todo';
const rest = testResults
  .filter(({ assertionResults }) => assertionResults.length === 0 || assertionResults.some(isSkipped))
  .map(({ name }) => relative('.', name));

// The longest first, each to the part that has least.
const parts = Array.from({ length: PARTS }, () => ({ files: new Set(), seconds: 0 }));
for (const [file, duration] of Object.entries(seconds).sort((one, other) => other[1] - one[1])) {
  const least = parts.reduce((one, other) => (other.seconds < one.seconds ? other : one));
  least.files.add(file);
  least.seconds += duration;
}
const isNow = (file) => chosen === 'all' || !(file in seconds) || parts[Number(chosen) - 1].files.has(file);
const later = rest.filter((file) => !isNow(file));
if (later.length > 0)
  console.error(
    `part ${chosen} of ${PARTS}; long files of the other parts, which HOLDFAST_CI_PART=all runs too:\n${later.join('\n')}`,
  );
console.log(rest.filter(isNow).join('\n'));
