import { describe, expect, it } from 'vitest';
import { checkCapability } from '../../src/core/grants/capability.js';
import { parseGrants } from '../../src/core/grants/grants.js';
import { INTERRUPTION_KINDS, VERDICTS } from '../../src/core/interruptions/interruption.js';
import { RUN_STATUSES, runLimits } from '../../src/core/runs/run.js';
import { codes, names, pageText, rows, section } from './pages.js';

const page = pageText('docs/concepts.md');

describe('docs/concepts.md and the pages that it leads to', () => {
  const examples = rows(section(pageText('docs/agents/grants.md'), '## Capabilities')).filter(([grant = '']) =>
    grant.includes(':'),
  );

  it('has examples of grants', () => {
    expect(examples.length).toBeGreaterThan(10);
  });

  it.each(examples.map((cells) => cells.map((cell) => codes(cell)[0] ?? '')))(
    '%s covers %s and not %s',
    (grant, covered, other) => {
      const set = parseGrants([grant]);
      expect(checkCapability(set, covered).effect).toBe('allow');
      expect(checkCapability(set, other)).toMatchObject({ effect: 'deny', rule: null });
    },
  );

  it('names every status of a run and every verdict', () => {
    const life = section(page, "## A run's life");
    expect(codes(life)).toEqual(expect.arrayContaining([...RUN_STATUSES]));
    expect(codes(pageText('docs/reference/verdicts.md'))).toEqual(expect.arrayContaining([...VERDICTS]));
  });

  it('names no kind of interruption that nothing makes', () => {
    expect(INTERRUPTION_KINDS.filter((kind) => codes(section(page, '## Words')).includes(kind))).toEqual([
      ...['approval', 'question', 'child_run', 'timer', 'event', 'budget'],
    ]);
  });

  it('has the fields of a declared tool', () => {
    const text = pageText('src/core/tools/tool.ts');
    const fields = [
      'ToolTerms<I, O>',
      'ToolDeclaration<I, O, S = JsonObject> extends ToolTerms<I, O>',
      'IsolatedBody',
    ].flatMap((name) => {
      const body = text.split(`interface ${name} {`)[1]?.split('\n}')[0] ?? '';
      return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, field]) => field);
    });
    const documented = rows(pageText('docs/agents/tools.md').split('\n`execute` gets')[0] ?? '').flatMap(
      ([cell = '']) => codes(cell),
    );
    expect([...documented, 'execute'].sort()).toEqual(fields.sort());
  });

  it('has the limits of a run', () => {
    expect(names(pageText('docs/agents/run-limits.md'))).toEqual(Object.keys(runLimits.shape));
  });
});
