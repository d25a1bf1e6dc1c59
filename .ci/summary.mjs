// Prints every skipped test of the given reports of vitest, and one closing line with the counts.
import { readFileSync } from 'node:fs';

const totals = { passed: 0, failed: 0, skipped: 0 };
for (const file of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(file, 'utf8'));
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
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0;
