import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { type EnvironmentIdentity, type EnvironmentName, environmentName } from '../../core/containers/environment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { labelsOf, rootImageOf, volumesOf } from '../docker/container-options.js';
import { isHeld, isImageUnknown, isOvertaken, statusOf } from '../docker/engine-answers.js';
import { type EngineConnection, EngineRefusal, isRefusal } from '../docker/engine-connection.js';
import { hasImage, inspect } from '../docker/inspect.js';
import { testerGroupOf } from '../exec/judge-users.js';
import { UNLINK } from '../exec/unlink-script.js';
import { makeFiltered } from '../lifecycle/filter.js';
import { removeContainer, stopContainer } from '../lifecycle/stop-container.js';

const TRIES = 3;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
const WITHIN_MS = 30 * 60_000;
const MAX_WORD_BYTES = 1000;

/** No engine gives this to a process that it has killed, lost or never started. */
const DONE = 42;
/** Ends a copy whose image cannot judge what was copied: the fault of no agent. */
const LACKS = 43;
const JUDGING = 'chgrp chmod find tail timeout';

/**
 * Copies each of what is mounted below /from to the same name below /to, which it makes empty first. Its own root remembers that it has done so: started once more,
 * it touches nothing, since the copy may be in use by then. Arguments: the group that may read and write what was copied; empty: no one
 * else; then where a workspace that is judged is mounted, too.
 */
const COPY = `
${UNLINK}
[ -e /holdfast.done ] && exit ${DONE}
for program in \${1:+${JUDGING}}; do
  command -v "$program" >/dev/null || { echo "the image has no program $program" >&2; exit ${LACKS}; }
done
mkdir /holdfast.begun || exit 1
for to in /to/*; do
  for entry in "$to"/* "$to"/.[!.]* "$to"/..?*; do
    if [ -e "$entry" ] || [ -L "$entry" ]; then rm -rf "$entry" || exit 1; fi
  done
  cp -a "/from/\${to#/to/}/." "$to/" || exit 1
  [ -z "$1" ] || { chgrp -hR "$1" "$to" && chmod -R g+rwX "$to"; } || exit 1
done
[ -z "$2" ] || unlink "$2" || exit 1
: >/holdfast.done || exit 1
exit ${DONE}
`;

/**
 * Gives an environment the files of its source, before its container is made: that there is one says that they are all there.
 * The one that asks ends at the same copy, which is one container by its name; one that ends in the middle is done again from its beginning.
 * Throws `environment_lost` where the source has no files any more, and `environment_failed`.
 */
export async function copyFiles(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  source: EnvironmentName,
  signal: AbortSignal,
): Promise<void> {
  await stopContainer(engine, source, signal);
  await assertVolumes(engine, identity, source, signal);
  const until = performance.now() + WITHIN_MS;
  let failures = 0;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const state = await stateOfCopy(engine, identity, source, signal);
    if (state.type === 'done') break;
    if (state.type === 'failed' && ++failures === TRIES) throw uncopied(identity, state);
    // By its name: what has copied everything has another one by now.
    if (state.type === 'failed') await removeContainer(engine, copierOf(identity), signal);
    if (performance.now() > until) {
      if (state.type === 'working') await removeContainer(engine, copierOf(identity), signal);
      throw failed(identity, 'it takes too long');
    }
    if (state.type === 'working') await sleep(pauseMs, undefined, { signal });
  }
  if (!identity.spec.security.readOnlyRoot) await copyRoot(engine, identity, source, signal);
}

/** Removes what has copied, which holds the files of the source: the container that was made stands for the copy from now on. */
export async function removeCopier(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  signal: AbortSignal,
): Promise<void> {
  for (const name of [copiedOf(identity), copierOf(identity)]) await removeContainer(engine, name, signal);
}

const copierOf = (identity: EnvironmentName): string => `${environmentName(identity)}-copy`;
/** What has copied everything is called so from then on: to start it once more, which may fail, changes nothing of that. */
const copiedOf = (identity: EnvironmentName): string => `${environmentName(identity)}-copied`;

type Copy =
  | { readonly type: 'done' }
  | { readonly type: 'working' }
  /** `bySource`: the program that copies met something among the files. */
  | { readonly type: 'failed'; readonly why: string; readonly bySource: boolean };

/** Looks at the container that copies, after it was made and started where it was not. */
async function stateOfCopy(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  source: EnvironmentName,
  signal: AbortSignal,
): Promise<Copy> {
  const name = copierOf(identity);
  const isCopied = async () => (await inspect(engine, copiedOf(identity), signal)) !== null;
  if (await isCopied()) return { type: 'done' };
  const found = await inspect(engine, name, signal);
  if (found === null) {
    await unlessRefused(identity, () =>
      makeFiltered(
        engine,
        'copying files',
        { spec: identity.spec, signal },
        { name, ...copyOptions(identity, source) },
      ),
    );
    return { type: 'working' };
  }
  const { Id: id, State: state } = found;
  const status = statusOf(state);
  if (status === 'created' && state.ExitCode === 0 && state.Error === '') {
    // Someone else was done with it all before this one was made: first it has its other name, then there is the container.
    if ((await isCopied()) || (await inspect(engine, environmentName(identity), signal)) !== null)
      return { type: 'done' };
    try {
      await unlessRefused(identity, () =>
        engine.ask('copying files', signal, (docker) => docker.getContainer(id).start()),
      );
    } catch (error) {
      if (!(error instanceof HoldfastError) || !isHeld(error.message)) throw error;
      return { type: 'failed', why: error.message, bySource: false };
    }
    return { type: 'working' };
  }
  if (state.Running || status === 'removing' || status === 'stopping') return { type: 'working' };
  if (status === 'exited' && state.ExitCode === DONE) {
    try {
      await engine.ask('copying files', signal, (docker) =>
        docker.getContainer(id).rename({ name: copiedOf(identity) }),
      );
    } catch (error) {
      // Someone else has given it its name, or needs it no more.
      if (!(error instanceof EngineRefusal)) throw error;
    }
    return { type: (await isCopied()) ? 'done' : 'working' };
  }
  return failureOfCopy(state, state.Error === '' ? await wordOf(engine, id, signal) : '');
}

function failureOfCopy({ Error: error, ExitCode: code }: { Error: string; ExitCode: number }, word: string): Copy {
  // No other program ends with 1 here: an engine that stops it gives another number.
  const bySource = error === '' && code === 1 && !/no space left/i.test(word);
  return { type: 'failed', why: error || word || `it ended with ${code}`, bySource };
}

/** Files that cannot be copied are the work of the run, whose container is judged; a full disk is not. */
function uncopied(identity: EnvironmentIdentity, { why, bySource }: Extract<Copy, { type: 'failed' }>): HoldfastError {
  if (!bySource || identity.purpose !== 'verification') return failed(identity, why);
  return new HoldfastError(
    'agent_broke_environment',
    `The files that the agent left cannot be copied: ${why.toWellFormed()}.`,
  );
}

/** By root, who may do nothing but what copying needs. Everything in it is the image's; nothing of the source is executed. */
const copyOptions = (identity: EnvironmentIdentity, source: EnvironmentName): Docker.ContainerCreateOptions => ({
  Image: identity.spec.image,
  Entrypoint: [],
  Cmd: ['sh', '-c', COPY, 'sh', ...judgedOf(identity)],
  User: '0:0',
  WorkingDir: '/',
  Labels: labelsOf(identity),
  StopTimeout: 0,
  HostConfig: {
    NetworkMode: 'none',
    CapDrop: ['ALL'],
    CapAdd: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID'],
    PidsLimit: 32,
    LogConfig: { Type: 'json-file', Config: { 'max-size': '64k', 'max-file': '1' } },
    Mounts: [
      ...partsOf(identity).flatMap((part) => [
        { ...mount(volumesOf(environmentName(source))[part], `/from/${part}`), ReadOnly: true },
        mount(volumesOf(environmentName(identity))[part], `/to/${part}`),
      ]),
      ...(isJudged(identity) ? [mount(volumesOf(environmentName(identity)).work, identity.spec.workdir)] : []),
    ],
  },
});

const isJudged = ({ purpose }: EnvironmentName): boolean => purpose === 'verification';

const judgedOf = (identity: EnvironmentIdentity): readonly [string, string] =>
  isJudged(identity) ? [String(testerGroupOf(identity.spec)), identity.spec.workdir] : ['', ''];

/** Under the records of its source an environment knows what its calls have run. */
const partsOf = ({ purpose }: EnvironmentName): readonly ('work' | 'records')[] =>
  purpose === 'verification' ? ['work'] : ['work', 'records'];

const mount = (volume: string, target: string) => ({
  ...{ Type: 'volume' as const, Source: volume, Target: target },
  VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
});

/** Keeps the root of a source as an image. Made twice at once, both are the same, and the later one has the name. */
async function copyRoot(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  source: EnvironmentName,
  signal: AbortSignal,
): Promise<void> {
  const image = rootImageOf(identity);
  if (await hasImage(engine, image, signal)) return;
  const from = await inspect(engine, environmentName(source), signal);
  if (from === null) throw lost(source);
  const [repo = '', tag = ''] = image.split(':');
  await unlessRefused(identity, () =>
    engine.ask('keeping the root of a container', signal, (docker) =>
      docker.getContainer(from.Id).commit({ repo, tag, pause: false, changes: labelling(identity) }),
    ),
  );
  if (!(await hasImage(engine, image, signal))) throw failed(identity, 'its root was not kept');
}

/** As instructions, each with one: Podman takes labels in no other way. */
const labelling = (identity: EnvironmentIdentity): readonly string[] =>
  Object.entries(labelsOf(identity)).map(([name, value]) => `LABEL ${name}=${JSON.stringify(value)}`);

/** A volume that is not there would be made, empty, by the code that mounts it. */
async function assertVolumes(
  engine: EngineConnection,
  identity: EnvironmentName,
  source: EnvironmentName,
  signal: AbortSignal,
): Promise<void> {
  const volumes = volumesOf(environmentName(source));
  for (const part of partsOf(identity)) {
    try {
      await engine.ask('looking for a volume', signal, (docker) => docker.getVolume(volumes[part]).inspect());
    } catch (error) {
      throw isRefusal(error, 404) ? lost(source) : error;
    }
  }
}

/** The last of what it said. */
async function wordOf(engine: EngineConnection, id: string, signal: AbortSignal): Promise<string> {
  const log: unknown = await engine
    .ask('asking what a copy said', signal, (docker) => docker.getContainer(id).logs({ stderr: true, tail: 3 }))
    .catch(() => null);
  if (!Buffer.isBuffer(log)) return '';
  return textOfLog(log).slice(0, MAX_WORD_BYTES).trim();
}

/** Does what someone else may do at the same time, or has undone (404): looking again says what came of it. */
async function unlessRefused(identity: EnvironmentIdentity, request: () => Promise<unknown>): Promise<void> {
  try {
    await request();
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    if (isOvertaken(error)) return;
    if (isImageUnknown(error))
      throw new HoldfastError('image_unknown', `The engine has no image ${identity.spec.image}.`, { cause: error });
    if (error.status !== 404) throw failed(identity, error.message.trim());
  }
}

const failed = (identity: EnvironmentIdentity, why: string): HoldfastError =>
  new HoldfastError(
    'environment_failed',
    `The files of ${environmentName(identity)} cannot be copied: ${why.toWellFormed()}.`,
  );

const lost = (source: EnvironmentName): HoldfastError =>
  new HoldfastError('environment_lost', `The files of ${environmentName(source)} were there, and are gone.`);

const HEADING_BYTES = 8;

/**
 * Returns what a log of an engine says, as text of one line. Each piece begins with a heading: its stream, three zeros and its
 * length. A heading may hold bytes that look like letters, so it is cut off by its length.
 */
function textOfLog(log: Buffer): string {
  const pieces: Buffer[] = [];
  let at = 0;
  while (at + HEADING_BYTES <= log.length) {
    const stream = log.readUInt8(at);
    // A log without headings is all text.
    if (stream > 2 || log.readUIntBE(at + 1, 3) !== 0) break;
    const size = log.readUInt32BE(at + 4);
    pieces.push(log.subarray(at + HEADING_BYTES, at + HEADING_BYTES + size));
    at += HEADING_BYTES + size;
  }
  if (at === 0) pieces.push(log);
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/[^\P{C}]+/gu, ' ')
    .trim();
}
