import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { z } from 'zod';
import { HoldfastError } from '../core/errors/errors.js';
import { isRecord } from '../core/json.js';
import { tenantLimits } from '../core/queue/dispatch.js';
import type { HoldfastConfig } from '../engine/agents/define.js';

const anObject = (expected: string) => z.custom<object>(isRecord, { error: `expected ${expected}` });

const judgedLater = z.unknown().optional();

const configShape = z.strictObject({
  agents: z.array(anObject('an Agent, or what defineAgent returns')),
  providers: z
    .record(
      z.string(),
      z.custom<object>((value) => isRecord(value) && typeof Reflect.get(Object(value), 'getModel') === 'function', {
        error: 'expected a ModelProvider, which has getModel()',
      }),
    )
    .optional(),
  ...{
    prices: judgedLater,
    unknownPrice: judgedLater,
    budgets: judgedLater,
    routers: judgedLater,
    retention: judgedLater,
    scheduling: judgedLater,
    retries: judgedLater,
    images: judgedLater,
    models: judgedLater,
    stalls: judgedLater,
    alerts: judgedLater,
    webhooks: judgedLater,
    separateRequester: judgedLater,
    forkModels: judgedLater,
    rewards: judgedLater,
    evidence: judgedLater,
    hostFolders: judgedLater,
    evolution: judgedLater,
    memorySpaces: judgedLater,
    ceilings: judgedLater,
    imagePolicy: judgedLater,
    bodiesApart: judgedLater,
  },
  tenants: tenantLimits.optional(),
} satisfies { readonly [K in keyof Required<HoldfastConfig>]: z.ZodType });

/**
 * Loads a configuration file. It may be TypeScript, and shares `ownModules` and those of the engine with this process. Throws
 * `config_unreadable` with the first line of what the file threw and the place, and `config_invalid` for another shape.
 */
export async function loadConfig(
  path: string,
  ownModules: { readonly [name: string]: unknown },
): Promise<HoldfastConfig> {
  if (!existsSync(path)) {
    throw new HoldfastError('config_unreadable', `The configuration file ${path} does not exist.`, {
      hint: 'Set HOLDFAST_CONFIG to a file that exists, or leave it out.',
    });
  }
  const exported = await importFile(path, ownModules);
  let found: HoldfastConfig | Problem;
  try {
    found = configIn(exported);
  } catch (cause) {
    throw invalid(path, `it cannot be read: ${whyOf(cause)}`, cause);
  }
  if ('problem' in found) throw invalid(path, found.problem);
  return found;
}

interface Problem {
  readonly problem: string;
}

/** What is exported, with each field read once: a getter may throw, or say something else the second time. */
function configIn(exported: unknown): HoldfastConfig | Problem {
  if (!isRecord(exported) || !('default' in Object(exported))) {
    return { problem: 'it has no default export; expected `export default defineConfig({ agents: […] })`' };
  }
  const parsed = configShape.safeParse(Reflect.get(Object(exported), 'default'));
  if (!parsed.success) return { problem: problemsOf(parsed.error) };
  // What agents and providers are is judged where they are registered.
  return parsed.data as HoldfastConfig;
}

async function importFile(path: string, ownModules: { readonly [name: string]: unknown }): Promise<unknown> {
  // Most commands load no configuration, and the Agents SDK takes longer to load than all the rest.
  const [{ SHARED_MODULES }, { createJiti }] = await Promise.all([
    import('../engine/shared-modules.js'),
    import('jiti'),
  ]);
  const virtualModules = { ...SHARED_MODULES, ...ownModules };
  const jiti = createJiti(import.meta.url, { fsCache: false, interopDefault: false, virtualModules });
  try {
    return await jiti.import<unknown>(path);
  } catch (cause) {
    throw new HoldfastError('config_unreadable', `The configuration file ${path} cannot be loaded: ${whyOf(cause)}.`, {
      cause,
    });
  }
}

/** The first line of an error without its full stop, and where it was thrown if that is not said in it. */
function whyOf(cause: unknown): string {
  const error = cause instanceof Error ? cause : new Error(inspect(cause));
  const [first = '', second = ''] = error.message.split('\n').map((line) => line.trim());
  // A parser says the place in its second line.
  const place = /^\/.*:\d+:\d+$/.test(second) ? second : placeIn(error.stack ?? '');
  const what = first === '' ? error.name : first.replace(/\.$/, '');
  return place === null || what.includes(place) ? what : `${what} (at ${place})`;
}

function placeIn(stack: string): string | null {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const own = frames.find((line) => !line.includes('node_modules') && !line.includes('node:'));
  return /\(?(?:file:\/\/)?(\/[^()]+:\d+):\d+\)?$/.exec(own ?? '')?.[1] ?? null;
}

const invalid = (path: string, why: string, cause?: unknown): HoldfastError =>
  new HoldfastError('config_invalid', `The configuration file ${path} is not valid: ${why}.`, {
    cause,
    hint: 'Correct the file; `holdfast doctor` checks it.',
  });

const problemsOf = ({ issues }: z.ZodError): string =>
  issues.map((issue) => `${['default', ...issue.path.map(String)].join('.')}: ${issue.message}`).join('; ');

/** Names of configuration files. Of several, the first one is loaded. */
export const CONFIG_FILES = ['ts', 'mts', 'js', 'mjs', 'cjs'].map((ending) => `holdfast.config.${ending}`);

/** The configuration file to load, if there is one: the one that is named, or that of the working directory. */
export function findConfig(named: string | null): string | null {
  if (named !== null) return named;
  return CONFIG_FILES.map((name) => resolve(name)).find((path) => existsSync(path)) ?? null;
}

/** The same where one is needed. Throws `config_unreadable` where there is none. */
export function needConfig(named: string | null): string {
  const path = findConfig(named);
  if (path !== null) return path;
  const names = CONFIG_FILES.join(', ').replace(/, (?=[^,]*$)/, ' or ');
  throw new HoldfastError('config_unreadable', `${resolve('.')} has no configuration: expected ${names}.`, {
    hint: 'Write one with `holdfast init`, change to its folder, or set HOLDFAST_CONFIG. `holdfast demo` shows a run without one.',
  });
}
