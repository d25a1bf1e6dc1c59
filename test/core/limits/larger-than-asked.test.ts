import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readTask } from '../../../src/cli/commands/tasks/read-task.js';
import { differenceOf } from '../../../src/core/difference.js';
import { type ErrorCode, HoldfastError } from '../../../src/core/errors/errors.js';
import { provenEventOf } from '../../../src/core/evidence/proof.js';
import { redactorOf } from '../../../src/core/exports/redaction.js';
import { fieldErrorsOf, invalidRequest } from '../../../src/core/field-errors.js';
import { parseGrants } from '../../../src/core/grants/grants.js';
import { answerProblems } from '../../../src/core/interruptions/answer.js';
import type { JsonObject, JsonValue } from '../../../src/core/json.js';
import { Allowance, REQUEST_LIMITS } from '../../../src/core/limits/allowance.js';
import { linearPattern } from '../../../src/core/limits/linear-pattern.js';
import type { RunEvent } from '../../../src/core/log/event.js';
import { fillTemplate } from '../../../src/core/plans/template.js';
import { startRun } from '../../../src/core/runs/run.js';
import { resolveTask } from '../../../src/core/tasks/resolve-task.js';
import { giveReward } from '../../../src/core/tasks/reward.js';
import { parseTask, type TaskInput } from '../../../src/core/tasks/task-definition.js';
import { chooseParameters, drawn, drawnNumbers } from '../../../src/core/tasks/task-parameter.js';
import { filledLength, fillIn } from '../../../src/core/tasks/task-texts.js';
import { jsonText } from '../../../src/http/wire/json-text.js';
import { pageText, rows, section } from '../../docs/pages.js';
import { aTask } from '../tasks/a-task.js';

const ROOT = join(import.meta.dirname, '../../..');

/**
 * Every place that puts a text in the place of another one, with what bounds it. `allowance`: the size is reckoned before it is made.
 * `factor`: what is made is longer by a constant factor at most. `name`: it is an id, a name or a message, which is bounded itself.
 */
const PLACES: Record<string, 'allowance' | 'factor' | 'name'> = {
  'src/core/grants/capability-text.ts': 'factor',
  'src/core/grants/capability-url.ts': 'factor',
  'src/core/containers/image-policy.ts': 'name',
  'src/core/memory/search-plan.ts': 'factor',
  'src/core/exports/chat-row.ts': 'factor',
  'src/core/harbor/harbor-dockerfile.ts': 'factor',
  'src/core/harbor/harbor-places.ts': 'factor',
  'src/core/log/compare-events.ts': 'factor',
  'src/core/limits/linear-pattern.ts': 'allowance',
  'src/core/tools/mcp.ts': 'name',
  'src/core/replay/rebinding.ts': 'factor',
  'src/core/exports/redaction.ts': 'allowance',
  'src/core/secrets/secret-forms.ts': 'factor',
  'src/core/secrets/secret-patterns.ts': 'factor',
  'src/core/shell-starters.ts': 'factor',
  'src/core/tasks/solution-commands.ts': 'factor',
  'src/core/tasks/task-texts.ts': 'allowance',
  'src/core/exports/bucket-place.ts': 'name',
  'src/core/log/find.ts': 'factor',
  'src/core/operations/fields.ts': 'factor',
  'src/core/plans/plan-view.ts': 'factor',
  'src/engine/interruptions/approval-terms.ts': 'name',
  'src/http/app.ts': 'name',
  'src/http/auth/host.ts': 'factor',
  'src/http/routes.ts': 'name',
  'src/tools/aider/aider-history.ts': 'factor',
  'src/tools/container/splice-file.ts': 'factor',
};

/** Calls of `repeat`, and of `replace` with anything but a short text. */
const MAKES =
  /\.(?:repeat\(|replace(?:All)?\((?!\w+\)|\s*(?:\/(?:\\.|[^/\\\n])+\/[a-z]*|'[^']*'|"[^"]*"),\s*'(?:[^'$\\]|\\.){0,12}'\)))/;

describe('what can be larger than its request', () => {
  it('is in this list', () => {
    const files = ['src/core', 'src/engine', 'src/http', 'src/tools', 'src/datasets', 'steps', 'workflows'].flatMap(
      (dir) => readdirSync(join(ROOT, dir), { recursive: true, encoding: 'utf8' }).map((name) => join(ROOT, dir, name)),
    );
    const making = files.filter((file) => file.endsWith('.ts') && MAKES.test(readFileSync(file, 'utf8')));
    expect(making.map((file) => relative(ROOT, file)).sort()).toEqual(Object.keys(PLACES).sort());
  });
});

const list = <T>(length: number, one: (at: number) => T): T[] => Array.from({ length }, (_, at) => one(at));
const named = <T>(length: number, name: string, one: (at: number) => T): Record<string, T> =>
  Object.fromEntries(list(length, (at) => [`${name}${at}`, one(at)]));
const resolved = (more: Partial<TaskInput>) =>
  resolveTask(parseTask(aTask(more)), { parameters: {}, seed: 1 }, new Allowance());
/** Schemas of which each names the next one twice. */
const doubling = (depth: number): JsonObject => ({
  $ref: '#/$defs/d0',
  $defs: {
    ...named(depth, 'd', (at) => ({ anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] })),
    [`d${depth}`]: { type: 'string' },
  },
});
const answered = (schema: JsonObject, value: JsonValue) =>
  answerProblems({ choices: null, schema }, value, new Allowance());
const event: RunEvent = {
  ...{ id: 'r:1', v: 1, runId: 'r', tenant: 't', seq: 1, parentId: null, kind: 'run.created', at: '', stateVersion: 1 },
  ...{ data: 'x'.repeat(1000), dataHash: '', stateHashBefore: '', stateHashAfter: '', prevHash: '', hash: '' },
};

interface Place {
  /** What of a request bounds it: a limit of its allowance, or one of its own. */
  readonly limit: keyof typeof REQUEST_LIMITS | 'own';
  /** Throws, or gives what would be answered of it. */
  readonly attack: () => unknown;
  /** How the attack is refused; left out: what it gives is no longer than 100,000 characters. */
  readonly refused?: ErrorCode;
}

/** Every place where what is made of a request can be larger than the request, with a request that would make much of it. */
const BOUNDED: Readonly<Record<string, Place>> = {
  'placeholders of a task': {
    limit: 'made',
    refused: 'payload_too_large',
    attack: () =>
      resolved({
        instruction: '{{a}}'.repeat(20_000),
        parameters: { a: { type: 'text', default: 'x'.repeat(10_000) } },
      }),
  },
  'random inputs of a task': {
    limit: 'work',
    refused: 'payload_too_large',
    attack: () =>
      resolved({
        instruction: list(12_000, (at) => `{{w${at}}}`).join(''),
        antiHardcoding: { randomizedInputs: named(12_000, 'w', () => ({ type: 'words', count: 1000, length: 200 })) },
      }),
  },
  'wrong placeholders of a task': {
    limit: 'own',
    refused: 'task_invalid',
    attack: () =>
      resolved({
        instruction: list(20_000, (at) => `{{q${at}}}`).join(''),
        parameters: named(30, 'p'.repeat(60), () => ({ type: 'boolean', default: true })),
      }),
  },
  'wrong parameters of a task': {
    limit: 'own',
    attack: () => [
      chooseParameters(
        named(2000, 'p', () => ({ type: 'boolean', default: true })),
        named(40_000, 'q', Number),
      ),
      chooseParameters({ a: { type: 'text', values: list(1000, (n) => `${n}${'x'.repeat(9000)}`) } }, { a: 'no' }),
    ],
  },
  'files of a task': {
    limit: 'own',
    refused: 'task_invalid',
    attack: () => parseTask({ ...aTask(), initialFiles: named(80_000, 'f', Number) }),
  },
  'signals of a reward': {
    limit: 'own',
    attack: () => giveReward.safeParse({ reward: 1, signals: named(70_000, 'k', String) }).error?.issues,
  },
  'a difference of arguments or runs': {
    limit: 'made',
    refused: 'payload_too_large',
    attack: () => {
      const key = 'k'.repeat(10_000);
      return differenceOf({ [key]: {} }, { [key]: named(5000, 'n', Number) }, new Allowance());
    },
  },
  'a schema that a model wrote': {
    limit: 'work',
    refused: 'payload_too_large',
    attack: () => answered(doubling(40), 5),
  },
  'a schema that never ends': {
    limit: 'work',
    refused: 'payload_too_large',
    attack: () => answered({ $ref: '#' }, 5),
  },
  'the redaction of an export': {
    limit: 'made',
    refused: 'payload_too_large',
    attack: () => {
      const patterns = [{ pattern: '', ignoreCase: false, replacement: 'x'.repeat(200) }];
      return redactorOf({ patterns, keys: [] }, String, new Allowance())('y'.repeat(100_000));
    },
  },
  'the grants of a run': {
    limit: 'own',
    refused: 'capability_invalid',
    attack: () => parseGrants(list(1000, (at) => `files:read:/${at}/**/${'a/**/'.repeat(60)}x`)),
  },
  'unknown fields': {
    limit: 'own',
    refused: 'invalid_request',
    attack: () => refusalOf(z.strictObject({ agent: z.string() }), named(60_000, 'unknown'.repeat(100), Number)),
  },
  'wrong items of a list': {
    limit: 'own',
    refused: 'invalid_request',
    attack: () => refusalOf(startRun, { agent: 'a', input: list(300_000, Number) }),
  },
  'an answer in JSON': {
    limit: 'answer',
    refused: 'payload_too_large',
    attack: () =>
      jsonText(
        list(100, () => 'x'.repeat(1000)),
        new Allowance({ answer: 10_000 }),
      ),
  },
  'a proof': {
    limit: 'answer',
    refused: 'payload_too_large',
    attack: () => {
      const allowance = new Allowance({ answer: 10_000 });
      return list(100, () => provenEventOf(event, 'ab', allowance));
    },
  },
  'templates and expressions of a plan': {
    limit: 'own',
    refused: 'plan_failed',
    attack: () =>
      fillTemplate({ $text: list(70, () => ({ $from: '/input' })) }, { input: 'x'.repeat(1_000_000), nodes: {} }),
  },
  'aliases in a file of a task': {
    limit: 'own',
    refused: 'task_unreadable',
    attack: () => {
      const path = join(mkdtempSync(join(tmpdir(), 'holdfast-test-')), 'task.yaml');
      writeFileSync(path, `a0: &a0 [x]\n${list(30, (n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]\n`).join('')}`);
      return readTask(path);
    },
  },
};

function refusalOf(schema: z.ZodType, value: unknown): never {
  throw invalidRequest(fieldErrorsOf(schema.safeParse(value).error ?? new z.ZodError([])));
}

describe('each of them', () => {
  it.each(Object.entries(BOUNDED))('has a bound: %s', async (_what, { attack, refused }) => {
    const work = async (): Promise<unknown> => attack();
    const made: unknown = await work().catch((error: unknown) => error);
    if (made instanceof HoldfastError) {
      expect(made.code).toBe(refused);
      expect(JSON.stringify([made.message, made.fields]).length).toBeLessThan(100_000);
    } else {
      expect(refused, String(made).slice(0, 200)).toBeUndefined();
      expect(JSON.stringify(made).length).toBeLessThan(100_000);
    }
  });

  it('stands in docs/reference/limits.md, with its limit', () => {
    const page = pageText('docs/reference/limits.md');
    const limits = rows(section(page, '## The allowance of a request')).map(([name = '', value = '']) => [name, value]);
    expect(limits).toEqual(
      Object.entries(REQUEST_LIMITS).map(([name, value]) => [`\`${name}\``, value.toLocaleString('en')]),
    );
    const places = rows(section(page, '## Where it is spent')).map(([limit = '', place = '']) => [place, limit]);
    expect(Object.fromEntries(places)).toEqual(
      Object.fromEntries(Object.entries(BOUNDED).map(([name, { limit }]) => [name, `\`${limit}\``])),
    );
  });

  it('takes what is no attack', () => {
    const short = parseTask(
      aTask({ instruction: '{{a}}'.repeat(20_000), parameters: { a: { type: 'text', default: 'x' } } }),
    );
    expect(resolveTask(short, { parameters: {}, seed: 1 }, new Allowance()).instruction).toHaveLength(20_000);
    expect(differenceOf({ k: {} }, { k: named(5000, 'n', Number) }, new Allowance())).toHaveLength(5000);
    expect(linearPattern('y').replace('yy', 'zzz', new Allowance({ made: 6 }))).toBe('zzzzzz');
    expect(answered(doubling(8), 'yes')).toEqual([]);
    expect(answered(doubling(8), 5)).not.toEqual([]);
    const tree: JsonObject = { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' } } };
    const grown = list(10, Number).reduce<JsonObject>((below) => ({ left: below, right: below }), {});
    expect(answered(tree, grown)).toEqual([]);
  });

  it('is refused for what all of it takes together, and each time alike', () => {
    const one = () => {
      const allowance = new Allowance({ made: 100 });
      return list(20, () => {
        try {
          allowance.make(10, 'It');
          return 'made';
        } catch (error) {
          return error instanceof HoldfastError ? error.message : String(error);
        }
      });
    };
    expect(one().slice(9, 11)).toEqual(['made', 'It would have more than 100 characters.']);
    expect(one()).toEqual(one());
  });

  it('is reckoned as it is made', () => {
    const values = new Map([
      ['a', 'long value'],
      ['b', ''],
    ]);
    for (const text of ['', '{{a}}', '{{ a }}{{b}}{{c}}', '\\{{a}} {{{a}}}', '{{a}}{{a'])
      expect(filledLength(text, values), text).toBe(fillIn(text, values).length);
    for (const input of [
      { type: 'words', count: 7, length: 30 },
      { type: 'word', length: 20 },
      { type: 'integers', count: 9, min: 1, max: 5 },
    ] as const)
      expect(drawn(input, 'x', 1).replaceAll(/[^a-z0-9]/g, '')).toHaveLength(drawnNumbers(input));
  });
});
