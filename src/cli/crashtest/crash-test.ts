import { spawn } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../../core/errors/errors.js';
import { inTemporaryFolder } from '../temporary-folder.js';
import { countsOf, type Judged, judgeLife, type Lived } from './judge-life.js';
import { type Life, lifeEnd, momentsIn } from './life.js';

export interface CrashTestOptions {
  readonly agent: string;
  readonly input: string;
  /** How many moments are tried at most. */
  readonly kills: number;
  readonly timeoutMs: number;
}

/** One moment at which the process was killed, and what came of the run. */
export interface Tried extends Judged {
  /** Where: `before the body of pay`, `after statement 12`. */
  readonly name: string;
  /** The body, or the beginning of the statement. */
  readonly what: string;
  readonly ms: number;
}

export interface CrashTestReport {
  readonly agent: string;
  /** How the run ends when nothing dies. */
  readonly end: string;
  readonly bodies: number;
  readonly statements: number;
  readonly tried: readonly Tried[];
}

type Kill = NonNullable<Life['kill']>;

interface Planned {
  readonly kill: Kill;
  readonly name: string;
  readonly what: string;
}

const WHEN = ['before', 'sent', 'after'] as const;
const STDERR_CHARS = 4000;
const STARTS_WITHIN_MS = 60_000;

/**
 * Executes a run of an agent in processes of their own, on databases of their own: once to its end, then once for each moment, at which
 * the process is killed and another one goes on. Throws `crash_test_failed` when the run does not even rest without a crash.
 */
export async function crashTest(
  options: CrashTestOptions,
  program: readonly string[],
  tell: (done: number, of: number, tried: Tried | null) => void,
): Promise<CrashTestReport> {
  return inTemporaryFolder('holdfast-crashtest-', async (dir) => {
    const lab = new Lab(dir, options, program);
    await lab.prepare();
    const first = await lab.live('whole', null);
    if (first.lived === null) throw cannotRun(options.agent, first.why);
    const planned = plannedKills(lab.statementsOf('whole'), first.lived, options.kills);
    tell(0, planned.length, null);
    const tried: Tried[] = [];
    for (const [index, { kill, name, what }] of planned.entries()) {
      const begun = performance.now();
      const { lived, why } = await lab.live(`k${index}`, kill);
      tried.push({ name, what, ...judgeLife(first.lived, lived, why), ms: Math.round(performance.now() - begun) });
      tell(index + 1, planned.length, tried.at(-1) ?? null);
    }
    const { status, code } = first.lived.end;
    return {
      ...{ agent: options.agent, end: code === null ? status : `${status} (${code})`, tried },
      ...{ bodies: countsOf(first.lived.moments).size, statements: lab.statementsOf('whole').length },
    };
  });
}

const cannotRun = (agent: string, why: string): HoldfastError =>
  new HoldfastError('crash_test_failed', `The run of ${agent} did not rest, without any crash: ${why}`);

/** Before and after each body, and as many statements as are left, spread over all of them. */
export function plannedKills(
  statements: readonly string[],
  { moments }: Pick<Lived, 'moments'>,
  most: number,
): readonly Planned[] {
  const bodies = moments
    .filter(({ when }) => when === 'begins')
    .flatMap(({ tool, callId }, index): Planned[] =>
      (['before', 'after'] as const).map((when) => ({
        ...{ kill: { of: 'body', when, index }, name: `${when} the body of ${tool}`, what: callId },
      })),
    );
  const chosen = everyNth(bodies, Math.ceil(bodies.length / Math.max(1, Math.floor(most / 2))));
  const left = Math.max(0, most - chosen.length);
  const places = left === 0 ? [] : everyNth([...statements.entries()], Math.ceil(statements.length / left));
  return [
    ...chosen,
    ...places.map(([index, text], place): Planned => {
      const when = WHEN[place % WHEN.length] ?? 'after';
      const name = when === 'sent' ? `as statement ${index + 1} is sent` : `${when} statement ${index + 1}`;
      return { kill: { of: 'statement', when, index }, name, what: text };
    }),
  ];
}

const everyNth = <T>(items: readonly T[], n: number): readonly T[] =>
  items.filter((_, index) => index % Math.max(1, n) === 0);

/** A folder with an empty database. Each run gets a copy of it. */
class Lab {
  readonly #dir: string;
  readonly #options: CrashTestOptions;
  readonly #program: readonly string[];

  constructor(dir: string, options: CrashTestOptions, program: readonly string[]) {
    this.#dir = dir;
    this.#options = options;
    this.#program = program;
  }

  async prepare(): Promise<void> {
    const { code, stderr } = await this.#spawn({ ...this.#life('empty', null), prepares: true });
    if (code !== 0) throw cannotRun(this.#options.agent, stderr);
  }

  /** Executes a run until it rests; when its process dies at `kill`, another one goes on. */
  async live(name: string, kill: Kill | null): Promise<{ readonly lived: Lived | null; readonly why: string }> {
    const life = this.#life(name, kill);
    cpSync(this.#life('empty', null).dataDir, life.dataDir, { recursive: true });
    try {
      const first = await this.#spawn(life);
      const last = first.signal === 'SIGKILL' ? await this.#spawn({ ...life, kill: null }) : first;
      if (!existsSync(life.endFile)) return { lived: null, why: last.stderr };
      const end = lifeEnd.parse(JSON.parse(readFileSync(life.endFile, 'utf8')));
      return { lived: { end, moments: momentsIn(life.momentsFile) }, why: '' };
    } finally {
      rmSync(life.dataDir, { recursive: true, force: true });
    }
  }

  statementsOf(name: string): readonly string[] {
    const { statementsFile } = this.#life(name, null);
    return existsSync(statementsFile) ? readFileSync(statementsFile, 'utf8').trimEnd().split('\n') : [];
  }

  #life(name: string, kill: Kill | null): Life {
    const { agent, input, timeoutMs } = this.#options;
    const at = (what: string): string => join(this.#dir, `${name}-${what}`);
    return {
      ...{ agent, input, timeoutMs, kill, prepares: false, dataDir: at('data') },
      ...{ momentsFile: at('moments'), statementsFile: at('statements'), endFile: at('end') },
    };
  }

  #spawn(
    life: Life,
  ): Promise<{ readonly code: number | null; readonly signal: string | null; readonly stderr: string }> {
    const [command = process.execPath, ...args] = this.#program;
    const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] });
    child.stdin.end(JSON.stringify(life));
    // It ends by itself unless a tool or a model holds it.
    const timer = setTimeout(() => child.kill('SIGTERM'), life.timeoutMs + STARTS_WITHIN_MS);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_CHARS);
    });
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        resolve({ code, signal, stderr: stderr.replace(/^holdfast: /, '').trim() });
      });
    });
  }
}
