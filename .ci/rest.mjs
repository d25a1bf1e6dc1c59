// Prints the test files of which a report of vitest says that something was skipped: what a machine with more has left to run.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const isSkipped = ({ status }) => status === 'pending' || status === 'skipped' || status === 'todo';
const rest = testResults.filter(
  ({ assertionResults }) => assertionResults.length === 0 || assertionResults.some(isSkipped),
);
console.log(rest.map(({ name }) => relative('.', name)).join('\n'));
