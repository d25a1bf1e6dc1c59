// Prints every skipped test of the given reports of vitest, what failed and passed when it ran again by itself, and one closing line
// with the counts.
import { readFileSync } from 'node:fs';

const totals = { passed: 0, failed: 0, skipped: 0 };
const reports = process.argv.slice(2);
const isAgain = (file) => file.endsWith('-again.json');
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const testsOf = (file) =>
  read(file).testResults.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ name, ...test })));
const keyOf = ({ name, fullName }) => `${name} ${fullName}`;
const passedAgain = new Set(
  reports
    .filter(isAgain)
    .flatMap(testsOf)
    .filter(({ status }) => status === 'passed')
    .map(keyOf),
);
const isFailed = ({ status }) => status === 'failed';
const mended = reports
  .filter((file) => !isAgain(file))
  .flatMap(testsOf)
  .filter((test) => isFailed(test) && passedAgain.has(keyOf(test)));

for (const file of reports) {
  const report = read(file);
  totals.passed += report.numPassedTests;
  totals.failed += report.numFailedTests;
  const skipped = report.testResults.flatMap((suite) =>
    suite.assertionResults.filter(({ status }) => status === 'pending' || status === 'skipped' || status === 'todo'),
  );
  totals.skipped += skipped.length;
  const groups = new Map();
  for (const { ancestorTitles, fullName } of skipped) {
    const group = ancestorTitles[0] ?? fullName;
    groups.set(group, (groups.get(group) ?? 0) + 1);
  }
  console.log(`\n${file}: ${skipped.length} skipped`);
  for (const [group, count] of groups) console.log(`  ${count} × ${group}`);
}
totals.failed -= mended.length;
if (mended.length > 0) console.log(`\n${mended.length} failed, and passed when run again by themselves:`);
for (const { fullName } of mended) console.log(`  ${fullName}`);
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0;
