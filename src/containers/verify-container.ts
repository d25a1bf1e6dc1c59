import { type EnvironmentIdentity, environmentName } from '../core/environment.js';
import { RECORDS_DIR } from '../core/environment-spec.js';
import { HoldfastError } from '../core/errors.js';
import { TELLING_FILES, unmetIn } from '../core/isolation.js';
import { SHOW } from './command-script.js';
import { labelsOf, volumesOf } from './container-options.js';
import { type EngineConnection, EngineRefusal } from './engine-connection.js';
import { type ExecResult, runAttached } from './exec.js';
import { inspect } from './inspect.js';
import { mainEnded } from './open-container.js';
import { newOwnerName } from './own-volumes.js';
import { removeContainer } from './remove-container.js';

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
  const unmet = unmetIn(spec, seen);
  if (unmet.length > 0 && !spec.bestEffort) {
    throw new HoldfastError('environment_unenforceable', `In ${environmentName(identity)} ${unmet.join('; ')}.`);
  }
  const isUsable = (): boolean => seen.has(RECORDS_DIR) && seen.has(spec.workdir);
  if (!isUsable()) {
    if (!seen.has(RECORDS_DIR)) await openRecords(place);
    if (!seen.has(spec.workdir)) await ownWorkdir(place);
    seen = await look(place);
  }
  for (const dir of [RECORDS_DIR, spec.workdir]) {
    if (seen.has(dir)) continue;
    throw new HoldfastError('environment_failed', `${dir} of ${environmentName(identity)} is not the user's own.`);
  }
}

/** The telling files by their path, and of the two directories those that can be used. */
async function look(place: Place): Promise<ReadonlyMap<string, string>> {
  const { workdir } = place.identity.spec;
  const { stdout } = await inside(place, ['sh', '-c', SHOW, 'sh', workdir, RECORDS_DIR, ...TELLING_FILES]);
  const parts = `\n${stdout.toString('utf8')}`.split('\n== ').slice(1);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf('\n');
      return end < 0 ? [part, ''] : [part.slice(0, end), part.slice(end + 1)];
    }),
  );
}

/** Everybody may make a directory there, and nobody lists those of others. Root owns it, without any capability. */
const openRecords = (place: Place): Promise<ExecResult> =>
  inside(place, ['sh', '-c', 'chmod 1733 "$1"', 'sh', RECORDS_DIR], '0');

async function inside(place: Place, argv: readonly string[], user?: string): Promise<ExecResult> {
  const { engine, container, identity, signal } = place;
  const request = {
    container,
    argv,
    maxBytes: MAX_BYTES,
    timeoutMs: WITHIN_MS,
    ...(user === undefined ? {} : { user }),
  };
  const result = await runAttached(engine, request, signal);
  if (result.exitCode === 0) return result;
  const said = result.stderr.toString('utf8').trim() || result.stdout.toString('utf8').trim();
  const why = result.timedOut ? 'it does not end' : said.slice(0, 1000) || `it ended with ${result.exitCode}`;
  const found = await inspect(engine, container, signal);
  if (found?.State.Status === 'exited') throw new EngineRefusal(0, mainEnded(found.State));
  // A stream that was cut says nothing of the container, but that it may have ended.
  throw result.exitCode === null && !result.timedOut
    ? new EngineRefusal(0, 'its stream was cut')
    : unusable(identity, why);
}

const unusable = (identity: EnvironmentIdentity, why: string): HoldfastError =>
  new HoldfastError(
    'environment_failed',
    `A shell in ${environmentName(identity)} does not work: ${why.toWellFormed()}.`,
  );

/** A volume whose directory the image does not have is root's. A container that may do nothing else gives it to the user. */
async function ownWorkdir({ engine, identity, signal }: Place): Promise<void> {
  const { spec } = identity;
  const helper = newOwnerName(identity);
  try {
    await engine.ask('giving the workspace to its user', signal, async (docker) => {
      const container = await docker.createContainer({
        name: helper,
        Image: spec.image,
        Entrypoint: [],
        Cmd: ['chown', spec.user, spec.workdir],
        User: '0:0',
        Labels: labelsOf(identity),
        HostConfig: {
          NetworkMode: 'none',
          CapDrop: ['ALL'],
          CapAdd: ['CHOWN'],
          SecurityOpt: ['no-new-privileges'],
          ReadonlyRootfs: true,
          PidsLimit: 16,
          Mounts: [{ Type: 'volume', Source: volumesOf(environmentName(identity)).work, Target: spec.workdir }],
        },
      });
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
