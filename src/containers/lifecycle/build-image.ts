import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type Docker from 'dockerode';
import type { EngineAddress } from '../../core/containers/engine-address.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { EngineConnection, EngineRefusal, isAway } from '../docker/engine-connection.js';
import { hasImage } from '../docker/inspect.js';

export interface ImageBuild {
  readonly image: string;
  /** The context by its paths; the Dockerfile is one of them. */
  readonly files: ReadonlyMap<string, { readonly content: Buffer; readonly executable: boolean }>;
  readonly timeoutSeconds: number;
  /** What the programs of the build reach: nothing, or what the engine's bridge does. */
  readonly network: 'none' | 'open';
  /** Called with each line that the build prints. */
  readonly onLine: (line: string) => void;
}

/** Lines of a build that failed that its error shows. */
const SHOWN_LINES = 20;
/** An engine of this API or a later one builds by BuildKit unless it is told otherwise. */
const BUILDKIT_API = 1.42;

/**
 * Builds an image on the engine at `address`, if the engine has none of the name. Throws `engine_unreachable` and `build_failed`. Returns
 * whether it was built now.
 */
export async function buildImage(address: EngineAddress, build: ImageBuild): Promise<boolean> {
  const engine = new EngineConnection(address, 0);
  const never = new AbortController().signal;
  if (await hasImage(engine, build.image, never)) return false;
  const version = await engine.ask('asking for its version', never, (docker) => docker.version());
  const buildKit = Number(version.ApiVersion) >= BUILDKIT_API;
  const context = mkdtempSync(join(tmpdir(), 'holdfast-build-'));
  try {
    for (const [path, { content, executable }] of build.files) {
      mkdirSync(dirname(join(context, path)), { recursive: true });
      writeFileSync(join(context, path), content, { mode: executable ? 0o755 : 0o644 });
    }
    await execute(engine, context, build, buildKit);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
  return true;
}

async function execute(engine: EngineConnection, context: string, build: ImageBuild, buildKit: boolean): Promise<void> {
  const { image, files, timeoutSeconds, network, onLine } = build;
  const within = AbortSignal.timeout(timeoutSeconds * 1000);
  const last: string[] = [];
  const tell = (text: string): void => {
    for (const line of text.split('\n')) {
      if (line.trim() === '') continue;
      onLine(line.trimEnd());
      last.push(line.trimEnd());
      if (last.length > SHOWN_LINES) last.shift();
    }
  };
  try {
    const { docker } = engine;
    const stream = await docker.buildImage(
      // The paths one by one, so that a .dockerignore of the context holds for each of them.
      { context, src: [...files.keys()] },
      {
        t: image,
        ...{ rm: true, forcerm: true, abortSignal: within },
        ...(network === 'none' ? { networkmode: 'none' } : {}),
        ...(buildKit ? { version: '2' as const } : {}),
      },
    );
    await followed(docker, stream, tell);
    await docker.getImage(image).inspect();
  } catch (error) {
    if (within.aborted) throw failed(image, `it takes longer than ${timeoutSeconds} seconds`, last, network, error);
    if (isAway(error)) throw engine.away('building an image', error);
    const why = error instanceof Error ? error.message : String(error);
    throw failed(image, why.trim().toWellFormed().replace(/\.$/, ''), last, network, error);
  }
}

function failed(image: string, why: string, last: readonly string[], network: string, cause: unknown): HoldfastError {
  const shown = last.length === 0 ? '' : ` Its last lines:\n${last.join('\n')}`;
  const net = network === 'none' ? ' The programs of the build had no network.' : '';
  return new HoldfastError('build_failed', `The engine does not build ${image}: ${why}.${net}${shown}`, { cause });
}

const saidIn = (event: unknown, key: string): string | null => {
  const value: unknown = Reflect.get(Object(event), key);
  return typeof value === 'string' ? value : null;
};

/** Waits for the end of a build. An engine answers 200 first and says afterwards that something failed. */
function followed(docker: Docker, stream: NodeJS.ReadableStream, tell: (text: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let refusal: EngineRefusal | null = null;
    const onProgress = (event: unknown): void => {
      const said = saidIn(event, 'error');
      if (said !== null) refusal = new EngineRefusal(500, said);
      const text = saidIn(event, 'stream') ?? saidIn(event, 'status');
      if (text !== null) tell(text);
    };
    const onFinished = (error: unknown): void => {
      const why = refusal ?? error;
      if (why == null) resolve();
      else reject(why);
    };
    // It decodes what BuildKit tells, too. The package of its types does not have it.
    const follow: unknown = Reflect.get(docker, 'followProgress');
    if (typeof follow !== 'function') return reject(new Error('dockerode has no followProgress'));
    Reflect.apply(follow, docker, [stream, onFinished, onProgress]);
  });
}
