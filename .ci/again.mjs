// Prints the test files of a report of vitest in which something failed, for a second run by themselves, where a busy machine may
// be the reason. Refuses where it cannot be: more than five files, or one in which processes are killed (test/crash).
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const MOST = 5;

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative('.', name));
const grave = failed.filter((file) => file.startsWith('test/crash/'));
if (failed.length === 0 || failed.length > MOST || grave.length > 0) process.exitCode = 1;
else console.log(failed.join('\n'));
