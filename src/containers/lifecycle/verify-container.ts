import { setTimeout as sleep } from 'node:timers/promises';
import { type EnvironmentIdentity, environmentName } from '../../core/containers/environment.js';
import { RECORDS_DIR } from '../../core/containers/environment-spec.js';
import { EMPTY_VARIABLES } from '../../core/containers/guarded-variables.js';
import { type SeenFiles, TELLING_FILES, unmetIn } from '../../core/containers/isolation.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { labelsOf, volumesOf } from '../docker/container-options.js';
import { type EngineConnection, EngineRefusal, StreamCut } from '../docker/engine-connection.js';
import { SHOW } from '../exec/command-script.js';
import { type ExecResult, runAttached } from '../exec/exec.js';
import { testerGroupOf } from '../exec/judge-users.js';
import { makeFiltered } from './filter.js';
import { endOfMain } from './open-container.js';
import { newOwnerName } from './own-volumes.js';
import { removeContainer } from './stop-container.js';

const TMP = '/tmp';
const KILLED = 137;
const ASKED_FOR_END = 10;
const ASKED_EACH_MS = 100;
const WITHIN_MS = 30_000;
const MAX_BYTES = 1_048_576;

interface Place {
  readonly engine: EngineConnection;
  readonly identity: EnvironmentIdentity;
  readonly container: string;
  readonly signal: AbortSignal;
}

/**
 * Looks from inside whether a container is what was asked for, before the first command runs in it, and makes its volumes usable.
 * Throws `environment_unenforceable`, `environment_failed`, and EngineRefusal for a container that has ended meanwhile.
 */
export async function verifyContainer(place: Place): Promise<void> {
  const { identity } = place;
  const { spec } = identity;
  let seen = await look(place);
  if (!isFit(identity, seen)) {
    if (!seen.has(TMP)) await openTmp(place);
    if (!seen.has(RECORDS_DIR) || !seen.has(spec.workdir))
      await giveVolumes(place, seen.has(spec.workdir) ? 'kept' : 'given');
    seen = await look(place);
  }
  if (!seen.has(TMP) && identity.purpose === 'verification')
    throw unusable(identity, `${TMP} of its image cannot be written to by everyone`);
  const unowned = !seen.has(RECORDS_DIR) ? RECORDS_DIR : !seen.has(spec.workdir) ? spec.workdir : null;
  if (unowned !== null) {
    const what = `${unowned} of ${environmentName(identity)} does not have the owner that it needs.`;
    throw new HoldfastError('environment_failed', what);
  }
}

/** Whether a container is what was asked for, and its volumes can be used. Throws `environment_unenforceable`. */
export function isFit(identity: EnvironmentIdentity, seen: SeenFiles): boolean {
  const { spec } = identity;
  const unmet = unmetIn(spec, seen);
  if (unmet.length > 0 && !spec.bestEffort)
    throw new HoldfastError('environment_unenforceable', `In ${environmentName(identity)} ${unmet.join('; ')}.`);
  return seen.has(RECORDS_DIR) && seen.has(spec.workdir) && seen.has(TMP);
}

/**
 * Lets everyone write to what is in memory at /tmp: engines give it the mode of that directory of the image. Root owns it, and needs no
 * capability for that. Where it fails, looking again shows it.
 */
async function openTmp({ engine, container, signal }: Place): Promise<void> {
  const asked = {
    container,
    user: '0:0',
    cwd: '/',
    argv: ['chmod', '1777', TMP],
    maxBytes: 1000,
    timeoutMs: WITHIN_MS,
  };
  await runAttached(engine, asked, signal);
}

async function look(place: Place): Promise<SeenFiles> {
  const { workdir } = place.identity.spec;
  const { stdout } = await inside(place, ['sh', '-c', SHOW, 'sh', workdir, RECORDS_DIR, ...TELLING_FILES]);
  return seenIn(stdout);
}

/** The telling files by their path, and of the two directories those that can be used, as SHOW shows them. */
export function seenIn(shown: Buffer): SeenFiles {
  const parts = `\n${shown.toString('utf8')}`.split('\n== ').slice(1);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf('\n');
      return end < 0 ? [part, ''] : [part.slice(0, end), part.slice(end + 1)];
    }),
  );
}

async function inside(place: Place, argv: readonly string[]): Promise<ExecResult> {
  const { engine, container, identity, signal } = place;
  const asked = { container, user: identity.spec.user, argv, maxBytes: MAX_BYTES, timeoutMs: WITHIN_MS };
  const result = await runAttached(engine, asked, signal);
  if (result.exitCode === 0) return result;
  const said = result.stderr.toString('utf8').trim() || result.stdout.toString('utf8').trim();
  const why = result.timedOut ? 'it does not end' : said.slice(0, 1000) || `it ended with ${result.exitCode}`;
  const end = await endOfContainer(place, result);
  if (end !== null) throw end;
  // A stream that was cut says nothing of the container, but that it may have ended.
  throw result.exitCode === null && !result.timedOut ? new StreamCut() : unusable(identity, why);
}

/** What is killed with its container is known a moment before the end of that is. */
async function endOfContainer({ engine, container, signal }: Place, { exitCode }: ExecResult) {
  for (let asked = 1; ; asked++) {
    const end = await endOfMain(engine, container, signal);
    if (end !== null || exitCode !== KILLED || asked === ASKED_FOR_END) return end;
    await sleep(ASKED_EACH_MS, undefined, { signal });
  }
}

const unusable = (identity: EnvironmentIdentity, why: string): HoldfastError =>
  new HoldfastError(
    'environment_failed',
    `A shell in ${environmentName(identity)} does not work: ${why.toWellFormed()}.`,
  );

/** Gives the workspace to its user if it is to be given, and the records to root: everybody makes a directory there, no one lists them. */
const GIVE = `
[ -z "$3" ] || chown "$3" "$1" || exit 1
[ -z "$4" ] || { chgrp "$4" "$1" && chmod g+rwx "$1"; } || exit 1
chown 0:0 "$2" && chmod 1733 "$2"
`;

/**
 * Does what `ownVolumes` does where an empty volume takes nothing over, or an archive has no room for the user's number: in a container that
 * may do nothing else. Podman gives a new volume to the user of the first container that starts with it.
 */
async function giveVolumes({ engine, identity, signal }: Place, work: 'kept' | 'given'): Promise<void> {
  const { spec } = identity;
  const helper = newOwnerName(identity);
  const volumes = volumesOf(environmentName(identity));
  const group = identity.purpose === 'verification' && work === 'given' ? String(testerGroupOf(spec)) : '';
  try {
    await makeFiltered(
      engine,
      'giving volumes to their users',
      { spec, signal },
      {
        name: helper,
        Image: spec.image,
        Entrypoint: [],
        Cmd: ['sh', '-c', GIVE, 'sh', spec.workdir, RECORDS_DIR, work === 'given' ? spec.user : '', group],
        User: '0:0',
        Env: [...EMPTY_VARIABLES],
        Labels: labelsOf(identity),
        HostConfig: {
          NetworkMode: 'none',
          CapDrop: ['ALL'],
          CapAdd: ['CHOWN', 'FOWNER'],
          ReadonlyRootfs: true,
          PidsLimit: 16,
          Mounts: [
            { Type: 'volume', Source: volumes.work, Target: spec.workdir },
            { Type: 'volume', Source: volumes.records, Target: RECORDS_DIR },
          ],
        },
      },
    );
    await engine.ask('giving volumes to their users', signal, async (docker) => {
      const container = docker.getContainer(helper);
      await container.start();
      await ended(container);
    });
  } catch (error) {
    throw error instanceof EngineRefusal ? unusable(identity, error.message) : error;
  } finally {
    await removeContainer(engine, helper, signal);
  }
}

/** Asks again and again: `wait` of an engine that dies never answers. */
async function ended(container: { inspect: () => Promise<{ State: { Running: boolean } }> }): Promise<void> {
  for (let tries = 0; tries < 500 && (await container.inspect()).State.Running; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
