import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Allowance } from '../../src/core/allowance.js';
import { differenceOf } from '../../src/core/difference.js';
import { HoldfastError } from '../../src/core/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../src/core/field-errors.js';
import { linearPattern } from '../../src/core/linear-pattern.js';
import { redactorOf } from '../../src/core/redaction.js';
import { resolveTask } from '../../src/core/resolve-task.js';
import { parseTask } from '../../src/core/task-definition.js';
import { chooseParameters } from '../../src/core/task-parameter.js';
import { filledLength, fillIn } from '../../src/core/task-template.js';
import { aTask } from './a-task.js';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Every place that puts a text in the place of another one, with what bounds it. `allowance`: the size is reckoned before it is made.
 * `factor`: what is made is longer by a constant factor at most. `name`: it is an id, a name or a message, which is bounded itself.
 */
const PLACES: Record<string, 'allowance' | 'factor' | 'name'> = {
  'src/core/capability-command.ts': 'factor',
  'src/core/capability-url.ts': 'factor',
  'src/core/chat-row.ts': 'factor',
  'src/core/harbor-dockerfile.ts': 'factor',
  'src/core/harbor-export.ts': 'factor',
  'src/core/harbor-places.ts': 'factor',
  'src/core/likeness.ts': 'factor',
  'src/core/linear-pattern.ts': 'allowance',
  'src/core/mcp.ts': 'name',
  'src/core/rebinding.ts': 'factor',
  'src/core/redaction.ts': 'allowance',
  'src/core/secret-forms.ts': 'factor',
  'src/core/secret-looks.ts': 'factor',
  'src/core/task-template.ts': 'allowance',
  'src/core/bucket-place.ts': 'name',
  'src/engine/approval-terms.ts': 'name',
  'src/http/app.ts': 'name',
  'src/http/host.ts': 'factor',
  'src/http/idempotency.ts': 'factor',
  'src/tools/swe-edit.ts': 'factor',
};

/** Calls of `repeat`, and of `replace` with anything but a short text. */
const MAKES =
  /\.(?:repeat\(|replace(?:All)?\((?!\w+\)|\s*(?:\/(?:\\.|[^/\\\n])+\/[a-z]*|'[^']*'|"[^"]*"),\s*'(?:[^'$\\]|\\.){0,12}'\)))/;

describe('what can be larger than its request', () => {
  it('is in this list', () => {
    const files = ['src/core', 'src/engine', 'src/http', 'src/tools', 'src/datasets', 'steps', 'workflows'].flatMap(
      (dir) => readdirSync(join(ROOT, dir)).map((name) => join(ROOT, dir, name)),
    );
    const making = files.filter((file) => file.endsWith('.ts') && MAKES.test(readFileSync(file, 'utf8')));
    expect(making.map((file) => relative(ROOT, file)).sort()).toEqual(Object.keys(PLACES).sort());
  });

  const tooLarge = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return error instanceof HoldfastError ? error.code : String(error);
    }
    return 'nothing was thrown';
  };

  it('a task with its parameters filled in', () => {
    const definition = parseTask(
      aTask({
        instruction: '{{a}}'.repeat(20_000),
        parameters: { a: { type: 'text', default: 'x'.repeat(10_000) } },
      }),
    );
    expect(tooLarge(() => resolveTask(definition, { parameters: {}, seed: 1 }))).toBe('payload_too_large');
    const short = resolveTask(definition, { parameters: { a: 'x' }, seed: 1 });
    expect(short.instruction).toHaveLength(20_000);
  });

  it('is reckoned as it is made', () => {
    const values = new Map([
      ['a', 'long value'],
      ['b', ''],
    ]);
    for (const text of ['', '{{a}}', '{{ a }}{{b}}{{c}}', '\\{{a}} {{{a}}}', '{{a}}{{a'])
      expect(filledLength(text, values), text).toBe(fillIn(text, values).length);
  });

  it('a difference, whose paths say each place from the root', () => {
    const key = 'k'.repeat(10_000);
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`n${n}`, n]));
    expect(tooLarge(() => differenceOf({ [key]: {} }, { [key]: many }))).toBe('payload_too_large');
    expect(differenceOf({ k: {} }, { k: many })).toHaveLength(5000);
  });

  it('a redacted text', () => {
    const patterns = [{ pattern: '', ignoreCase: false, replacement: 'x'.repeat(200) }];
    const clean = redactorOf({ patterns, keys: [] }, String, new Allowance('The text', 1_000_000));
    expect(tooLarge(() => clean('y'.repeat(10_000)))).toBe('payload_too_large');
    expect(linearPattern('y').replace('yy', 'zzz', new Allowance('The text', 6))).toBe('zzzzzz');
  });

  it('what is told of a request with many wrong fields', () => {
    const body = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`${'unknown'.repeat(100)}${n}`, n]));
    const { error } = z.strictObject({ agent: z.string() }).safeParse(body);
    const refusal = invalidRequest(error === undefined ? [] : fieldErrorsOf(error));
    expect(refusal.fields).toContainEqual({
      pointer: '',
      detail: expect.stringMatching(/59900 more names are not known/),
    });
    expect(JSON.stringify([refusal.message, refusal.fields]).length).toBeLessThan(100_000);
    const list = z.array(z.string()).safeParse(Array.from({ length: 60_000 }, () => 1)).error;
    expect(list && fieldErrorsOf(list)).toHaveLength(101);
  });

  it('what is told of parameters', () => {
    const names = Array.from({ length: 2000 }, (_, n) => [`p${n}`, { type: 'boolean' as const, default: true }]);
    const given = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`q${n}`, n]));
    const chosen = chooseParameters(Object.fromEntries(names), given);
    expect(JSON.stringify(chosen).length).toBeLessThan(1_000_000);
    const values = Array.from({ length: 1000 }, (_, n) => `${n}${'x'.repeat(9000)}`);
    expect(JSON.stringify(chooseParameters({ a: { type: 'text', values } }, { a: 'no' })).length).toBeLessThan(5000);
  });
});
