import type { Command, CommandOutcome, EnvironmentIdentity, Output } from '../../core/containers/environment.js';
import { RECORDS_DIR } from '../../core/containers/environment-spec.js';
import { TELLING_FILES } from '../../core/containers/isolation.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type EngineConnection, EngineRefusal, StreamCut } from '../docker/engine-connection.js';
import { inRunning } from '../lifecycle/ready-container.js';
import { isFit, seenIn } from '../lifecycle/verify-container.js';
import { BEGIN, CLOSE, COLLECT, NO_ROOM, RUN, SHOW, SHOW_AND_RUN, SHOWN } from './command-script.js';
import { type ExecResult, type Gate, runAttached } from './exec.js';

/** Beyond the time of a command: for the five seconds between its two signals, and for what comes after them. */
const OUTER_MS = 15_000;
const SHORT_MS = 30_000;
/** Of the first line. */
const HEADING_BYTES = 256;

export interface CommandPlace {
  readonly engine: EngineConnection;
  readonly identity: EnvironmentIdentity;
  /** Its id, as it is now. */
  readonly container: () => string;
  /** Null: it was looked at from inside. Otherwise the command does so before it begins, and says it here. */
  readonly unseen: () => (() => void) | null;
  readonly signal: AbortSignal;
  /** Makes sure that the container runs, after it was found not to. */
  readonly reopen: () => Promise<unknown>;
  /** Ends everything in it. */
  readonly kill: () => Promise<void>;
}

type Collected =
  | CommandOutcome
  | { readonly type: 'absent'; readonly code: number }
  | { readonly type: 'cut' }
  /** Its time is over, and something of it works on. */
  | { readonly type: 'timeout' };

type Found = Collected | { readonly type: 'speechless' };

/** Begins a command unless it was begun, waits for its end and gives its outcome: the same at every execution. */
export function runCommand(place: CommandPlace, command: Command): Promise<CommandOutcome> {
  return inRunning(place.signal, () => attempt(place, command), place.reopen);
}

/** Throws EngineRefusal where the container has ended: opened again, it says what became of the command. */
async function attempt(place: CommandPlace, command: Command): Promise<CommandOutcome> {
  const found = await beginAndCollect(place, command);
  if (found.type === 'ended' || found.type === 'unknown') return found;
  if (found.type === 'timeout') return closed(place, command);
  // Nothing could be started in it, and the command was not begun: whatever fills it is ended.
  if (found.type === 'absent') await place.kill();
  throw found.type === 'absent' ? new EngineRefusal(0, 'it starts no process') : new StreamCut();
}

async function beginAndCollect(place: CommandPlace, command: Command): Promise<Collected> {
  const { id, cwd, timeoutSeconds, maxOutputBytes, argv } = command;
  const args = [BEGIN, RECORDS_DIR, id, cwd, String(timeoutSeconds), String(maxOutputBytes), ...argv];
  const withinMs = timeoutSeconds * 1000 + OUTER_MS;
  const found =
    (await afterLook(place, command, args, withinMs)) ??
    (await inShell(place, command, [RUN, 'sh', ...args], withinMs));
  // A shell that ended silently found no room for a process, or was ended with the command: what became of that is asked again.
  const collected = found.type === 'speechless' ? await collect(place, command, withinMs) : found;
  if (collected.type === 'absent' && collected.code === NO_ROOM) throw outOfSpace();
  return collected.type === 'speechless' ? { type: 'cut' } : collected;
}

/** The command, by a shell that first shows what the container is. Null: it was not begun, and the container was looked at. */
async function afterLook(
  place: CommandPlace,
  command: Command,
  args: readonly string[],
  timeoutMs: number,
): Promise<Found | null> {
  const { identity, unseen, reopen } = place;
  const seen = unseen();
  if (seen === null) return null;
  const look = { refusal: null as unknown, isFit: false };
  const gate = {
    until: SHOWN,
    answer: (said: Buffer): string => {
      try {
        look.isFit = isFit(identity, seenIn(said));
      } catch (error) {
        look.refusal = error;
      }
      return look.isFit ? 'go\n' : '';
    },
  };
  const script = [SHOW_AND_RUN(TELLING_FILES), 'sh', SHOW, identity.spec.workdir, RECORDS_DIR, ...args];
  const found = await inShell(place, command, script, timeoutMs, gate);
  if (look.refusal !== null) throw look.refusal;
  if (look.isFit) seen();
  // What it lacks is seen to, or said.
  else await reopen();
  return look.isFit ? found : null;
}

export const outOfSpace = (): HoldfastError =>
  new HoldfastError('environment_failed', 'No command can be begun: what comes of it could not be recorded.', {
    hint: 'Make room on the disk of the engine, then start the run again.',
  });

const collect = (place: CommandPlace, command: Command, timeoutMs: number): Promise<Found> =>
  inShell(place, command, [COLLECT, 'sh', RECORDS_DIR, command.id], timeoutMs);

async function inShell(
  { engine, identity, container, signal }: CommandPlace,
  { maxOutputBytes }: Command,
  script: readonly string[],
  timeoutMs: number,
  gate?: Gate,
): Promise<Found> {
  const request = {
    ...{ container: container(), user: identity.spec.user, argv: ['sh', '-c', ...script] },
    ...{ maxBytes: maxOutputBytes + HEADING_BYTES, timeoutMs },
    ...(gate === undefined ? {} : { gate }),
  };
  return read(await runAttached(engine, request, signal), maxOutputBytes);
}

function read(result: ExecResult, maxBytes: number): Found {
  if (result.timedOut) return { type: 'timeout' };
  const end = result.stdout.indexOf('\n');
  const [word = '', ...fields] = result.stdout.subarray(0, Math.max(0, end)).toString('latin1').split(' ');
  const [code = 0, late = 0, full = 0, out = 0, err = 0] = fields.map((field) =>
    Math.max(0, Math.trunc(Number(field)) || 0),
  );
  if (word === 'absent') return { type: 'absent', code };
  if (word === 'lost') return { type: 'unknown' };
  // A stream that was cut after the heading has not all of the output.
  if (result.exitCode === null) return { type: 'cut' };
  if (word !== 'ended') return { type: 'speechless' };
  if (late === 2) return { type: 'timeout' };
  return {
    type: 'ended',
    exitCode: code,
    timedOut: late === 1,
    outOfMemory: full === 1,
    stdout: outputOf(result.stdout.subarray(end + 1), maxBytes, out),
    stderr: outputOf(result.stderr, maxBytes, err),
  };
}

/** `all`: how many bytes a stream had, if that is known. The records are files of the container's user, who may have made more of them. */
export function outputOf(bytes: Buffer, maxBytes: number, all: number): Output {
  const kept = bytes.subarray(0, maxBytes);
  return { text: kept.toString('utf8'), omittedBytes: Math.max(all, bytes.length) - kept.length };
}

/** The time of a command that nothing inside could end: with the container everything in it ends. */
async function closed(place: CommandPlace, command: Command): Promise<CommandOutcome> {
  const { engine, identity, container, signal } = place;
  await place.kill();
  await place.reopen();
  const argv = ['sh', '-c', CLOSE, 'sh', RECORDS_DIR, command.id];
  const asked = { container: container(), user: identity.spec.user, argv, maxBytes: HEADING_BYTES };
  await runAttached(engine, { ...asked, timeoutMs: SHORT_MS }, signal);
  const collected = await collect(place, command, SHORT_MS);
  return collected.type === 'ended' ? collected : { type: 'unknown' };
}
