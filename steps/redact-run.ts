import { Allowance } from '../src/core/allowance.js';
import type { ExportRequest } from '../src/core/export.js';
import type { ExportedRun } from '../src/core/export-row.js';
import { type Redaction, redactFamily, redactorOf } from '../src/core/redaction.js';
import { withoutKnownSecrets } from '../src/models/known-secrets.js';
import { withinTime } from './within-time.js';

/** The process does nothing else meanwhile. */
const REDACTION_MS = 1000;
/** Characters of all that is put in the place of something in one run. */
const REDACTED_MOST = 67_108_864;
const NO_RULES: Redaction = { patterns: [], keys: [] };

/** What is made of a run after everything was taken out of it that must not be exported. Throws `export_too_slow`. */
export function madeOfRedacted<T>(run: ExportedRun, { options }: ExportRequest, make: (run: ExportedRun) => T): T {
  const { redact = NO_RULES } = options;
  const { id } = run.family.conversation.run;
  const clean = redactorOf(
    redact,
    withoutKnownSecrets,
    new Allowance(`What stands in the place of what is redacted in run ${id}`, REDACTED_MOST),
  );
  const work = (): T => {
    const trajectory = () => clean(run.trajectory());
    return make({ ...run, family: redactFamily(run.family, clean), trajectory });
  };
  const what = `The redaction of run ${id}`;
  return redact.patterns.length === 0 ? work() : withinTime(REDACTION_MS, what, work);
}
