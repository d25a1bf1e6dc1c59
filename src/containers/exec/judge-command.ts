import { setTimeout as sleep } from 'node:timers/promises';
import type { Command, JudgedOutcome, JudgedPlace } from '../../core/containers/environment.js';
import { RECORDS_DIR } from '../../core/containers/environment-spec.js';
import { placesOfAgent } from '../../core/containers/guarded-variables.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { EngineRefusal, isRefusal, StreamCut } from '../docker/engine-connection.js';
import { inRunning } from '../lifecycle/ready-container.js';
import { type ExecRequest, type ExecResult, makeExec, runAttached, runMade, startUntil } from './exec.js';
import { BLOCKED, BROKER, KEEP, KEPT, TAKEN, TEST, TRY_NAME, tryScript, UNFED, UP } from './judge-script.js';
import { keeperOf, testerOf } from './judge-users.js';
import { type CommandPlace, outOfSpace, outputOf } from './run-command.js';

/** Beyond the time of a command: for its two signals, its files and what comes after. */
const OUTER_MS = 20_000;
const SHORT_MS = 30_000;
const HEADING_BYTES = 256;
/** Of the tester, whose home is in no other user's reach. */
const HOME = '/tmp/.tests-home';
const KILLED = 137;
const SAID_SHOWN = 500;

/** How the engine says that the execution of a command ended. */
type End =
  | { readonly type: 'ended'; readonly code: number; readonly late: boolean }
  /** No one knows. */
  | { readonly type: 'unknown' };

/**
 * Runs a command that judges, once, and gives its outcome. Its exit code is the engine's word. What it prints is kept by a user whom nothing
 * of the run can signal, so that a worker that dies loses none of it. One whose container ended under it is unknown.
 */
export async function judgeCommand(place: CommandPlace, command: Command, files: JudgedPlace): Promise<JudgedOutcome> {
  try {
    return await inRunning(place.signal, () => attempt(place, command, files), place.reopen);
  } catch (error) {
    if (!isFull(error)) throw error;
    await place.kill();
    await place.reopen();
    return { type: 'unknown' };
  }
}

/** A program that takes every process or all memory leaves none for the next program of the engine. */
const isFull = (error: unknown): boolean =>
  error instanceof HoldfastError &&
  error.code === 'environment_failed' &&
  (error.cause instanceof StreamCut ||
    /temporarily unavailable|cannot fork|can't fork|allocate memory/i.test(error.message));

async function attempt(place: CommandPlace, command: Command, files: JudgedPlace): Promise<JudgedOutcome> {
  const { engine, identity, container, signal } = place;
  const id = container();
  const request = testRequest(place, command, files);
  const made = await makeExec(engine, request, signal);
  let end: End | null = null;
  const withinMs = command.timeoutSeconds * 1000 + OUTER_MS + SHORT_MS;
  const asked: ExecRequest = {
    ...{ container: id, user: keeperOf(identity.spec), maxBytes: command.maxOutputBytes + HEADING_BYTES },
    argv: keeping(command, made.id),
    timeoutMs: withinMs,
    gate: {
      until: KEPT,
      answer: async (said) => {
        const [known = 'none', broker] = said.toString('latin1').trim().split(' ');
        if (known === 'over') return '';
        if (known === 'none') {
          end = { type: 'unknown' };
          return '';
        }
        const isNew = known === made.id;
        if (isNew && broker === 'dead' && !(await startBroker(place))) throw new StreamCut();
        end = isNew ? await runNow(place, known, request) : await collect(place, known, request);
        if (end.type === 'unknown') return '';
        // What is left at work could still write. A tester that was killed has not ended what it left itself.
        if (end.code > 127) await endTesters(place);
        if (!(await startBroker(place))) throw new StreamCut();
        return `end ${end.code} ${end.late ? 1 : 0}\n`;
      },
    },
  };
  const kept = await runAttached(engine, asked, signal).catch(async (error: unknown) => {
    if (!(error instanceof OutOfTime)) throw error;
    return null;
  });
  if (kept === null) return closed(place, command);
  if (isUnknown(end)) return { type: 'unknown' };
  return outcomeOf(kept, command);
}

const isUnknown = (end: End | null): boolean => end?.type === 'unknown';

const keeping = ({ id, maxOutputBytes }: Command, execution: string): readonly string[] => [
  ...['sh', '-c', KEEP, 'sh', RECORDS_DIR, id, execution, String(maxOutputBytes), tryScript(RECORDS_DIR)],
];

/** Its own process ends with the others where the shell has another program for it. */
const endTesters = ({ engine, identity, container, signal }: CommandPlace): Promise<ExecResult> => {
  const argv = ['sh', '-c', 'kill -9 -1'];
  const asked = { container: container(), user: testerOf(identity.spec), argv, maxBytes: 256, timeoutMs: SHORT_MS };
  return runAttached(engine, asked, signal);
};

/** Ends what works as the agent's user, begins a main process of the task's own, and waits for what is to be tried next. */
const startBroker = ({ engine, identity, container, signal }: CommandPlace): Promise<boolean> => {
  const { user, workdir, command } = identity.spec;
  const argv = ['sh', '-c', BROKER, 'sh', RECORDS_DIR, workdir, ...(command ?? [])];
  return startUntil(engine, { container: container(), user, argv, timeoutMs: SHORT_MS }, UP, signal);
};

/** The text of a shell, in a file: what a test tries may read arguments, and not what the tester alone has. */
const TRY = `${RECORDS_DIR}/${TRY_NAME}`;
const TEXT = `${HOME}/.command`;

/** A command as it is executed, and its files. The agent's user reads the text of a shell of its own from its arguments. */
function untold(argv: readonly string[], { files }: JudgedPlace) {
  const [program, option, text] = argv.slice(-3);
  const isTold = argv[0] === TRY || program !== 'sh' || option !== '-c' || text === undefined;
  if (isTold) return { argv, files };
  const file = { path: TEXT, bytes: Buffer.from(`${text}\n`), mode: '600' };
  return { argv: [...argv.slice(0, -1), '. "$0"', TEXT], files: [...files, file] };
}

function testRequest({ identity, container }: CommandPlace, command: Command, place: JudgedPlace): ExecRequest {
  const { id, cwd, timeoutSeconds } = command;
  const { argv, files } = untold(command.argv, place);
  const places = placesOfAgent(identity.spec).join('\n');
  const { user, security } = identity.spec;
  // Without a group of its own it is in those that the image says.
  const writer = security.readOnlyRoot ? '' : user.includes(':') ? user : `${user}:`;
  const lines = [
    ...place.remove.map((path) => `remove ${path}`),
    ...place.make.map((path) => `make ${path}`),
    ...files.map(({ bytes, mode, path }) => `file ${bytes.length} ${mode} ${path}`),
    `go ${files.reduce((sum, { bytes }) => sum + bytes.length, 0)}`,
  ];
  return {
    ...{ container: container(), user: testerOf(identity.spec), maxBytes: 1024 },
    argv: ['sh', '-c', TEST, 'sh', `${RECORDS_DIR}/${id}`, HOME, cwd, String(timeoutSeconds), places, writer, ...argv],
    input: Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), ...files.map(({ bytes }) => bytes)]),
    timeoutMs: timeoutSeconds * 1000 + OUTER_MS,
  };
}

/** Nothing inside could end a command in its time. */
class OutOfTime extends Error {}

async function runNow(place: CommandPlace, id: string, request: ExecRequest): Promise<End> {
  const { engine, signal } = place;
  const begun = performance.now();
  const exec = engine.docker.getExec(id);
  const result = await runMade(engine, exec, request, signal);
  if (result.timedOut) throw new OutOfTime();
  if (result.exitCode === null) return collect(place, id, request);
  return endOf(result.exitCode, performance.now() - begun, request);
}

const ASKED_EACH_MS = 100;

/**
 * How an execution ended that was begun before. A worker may have died after it made the execution and before it started it: then this one
 * starts it. The engine starts it at most once.
 */
async function collect(place: CommandPlace, id: string, request: ExecRequest): Promise<End> {
  const { engine, signal } = place;
  const begun = performance.now();
  const exec = engine.docker.getExec(id);
  const inspect = () => engine.ask('asking for the end of a program', signal, () => exec.inspect());
  try {
    while (performance.now() - begun < request.timeoutMs) {
      const { Running, ExitCode } = await inspect();
      if (Running) await sleep(ASKED_EACH_MS, undefined, { signal });
      else if (ExitCode) return codeOf(ExitCode);
      else {
        // Podman gives 0 also for what was never started.
        const end = await startMade(place, id, request);
        if (end !== null) return end;
        const known = await inspect();
        if (!known.Running) return codeOf(known.ExitCode);
      }
    }
  } catch (error) {
    if (isRefusal(error, 404)) return { type: 'unknown' };
    throw error;
  }
  throw new OutOfTime();
}

/** An engine that neither starts it nor knows its end has lost the container. */
function codeOf(code: number | null): End {
  if (code === null) throw new StreamCut();
  return code === UNFED ? { type: 'unknown' } : { type: 'ended', code, late: false };
}

/** Null: it was started before. */
async function startMade(place: CommandPlace, id: string, request: ExecRequest): Promise<End | null> {
  if (!(await startBroker(place))) throw new StreamCut();
  try {
    return await runNow(place, id, request);
  } catch (error) {
    if (isRefusal(error, 409)) return null;
    throw error;
  }
}

const ENDED_BY_TIME: ReadonlySet<number> = new Set([124, KILLED, 143]);

function endOf(code: number, tookMs: number, { timeoutMs }: ExecRequest): End {
  const late = ENDED_BY_TIME.has(code) && tookMs >= timeoutMs - OUTER_MS;
  return { type: 'ended', code, late };
}

/** The time of a command that nothing inside could end: with the container everything in it ends. */
async function closed(place: CommandPlace, command: Command): Promise<JudgedOutcome> {
  const { engine, identity, container, signal } = place;
  await place.kill();
  await place.reopen();
  const kept = await runAttached(
    engine,
    {
      ...{ container: container(), user: keeperOf(identity.spec), maxBytes: command.maxOutputBytes + HEADING_BYTES },
      ...{ argv: keeping(command, 'none'), timeoutMs: SHORT_MS },
      gate: { until: KEPT, answer: () => `end ${KILLED} 1\n` },
    },
    signal,
  );
  return outcomeOf(kept, command);
}

/** How it failed, in its own words: they say whether it found no process for what it does. */
function failureOf({ exitCode, stdout, stderr }: ExecResult): string {
  const said = `${stderr.toString('utf8')} ${stdout.toString('utf8')}`.trim().slice(0, SAID_SHOWN).toWellFormed();
  return said === '' ? `ended with ${exitCode}` : `failed: ${said}`;
}

function outcomeOf(kept: ExecResult, { maxOutputBytes, timeoutSeconds }: Command): JudgedOutcome {
  if (kept.exitCode === 73) throw outOfSpace();
  if (kept.exitCode === TAKEN)
    throw new HoldfastError(
      'agent_broke_environment',
      `What the container runs has put files of its own into ${RECORDS_DIR}, where tests find the program that runs the work.`,
    );
  const stop = kept.stdout.indexOf('\n');
  const [word = '', ...fields] = kept.stdout.subarray(0, Math.max(0, stop)).toString('latin1').split(' ');
  const [code = 0, late = 0, full = 0, out = 0, err = 0, took = 0] = fields.map((field) =>
    Math.max(0, Math.trunc(Number(field)) || 0),
  );
  if (kept.exitCode === null) throw new StreamCut();
  // It found no process for what it does, or was told nothing.
  if (word !== 'ended') throw new EngineRefusal(0, `what keeps the records of its commands ${failureOf(kept)}`);
  if (code === BLOCKED) return { type: 'blocked' };
  return {
    ...{ type: 'ended', exitCode: code, outOfMemory: full === 1 },
    // A worker that came later does not know how long it took.
    timedOut: late === 1 || (ENDED_BY_TIME.has(code) && took >= timeoutSeconds),
    stdout: outputOf(kept.stdout.subarray(stop + 1), maxOutputBytes, out),
    stderr: outputOf(kept.stderr, maxOutputBytes, err),
  };
}
