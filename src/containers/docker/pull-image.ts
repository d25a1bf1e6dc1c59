import type Docker from 'dockerode';
import { z } from 'zod';
import { pulledName, registryOf } from '../../core/containers/image-policy.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type EngineConnection, isAway } from './engine-connection.js';

/** What an engine says of a layer while it pulls it. */
const layerEvent = z.object({
  id: z.string().max(100),
  status: z.string(),
  progressDetail: z
    .object({ current: z.number().min(0), total: z.number().min(0) })
    .partial()
    .optional(),
});

/** How far a pull is, in bytes as they are sent. The total grows until the engine knows every layer. */
interface PullProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
}

const LAYERS_MOST = 1000;

/** Adds up what an engine says of the layers of an image. */
export class PulledLayers {
  readonly #layers = new Map<string, PullProgress>();

  add(event: unknown): void {
    const { data } = layerEvent.safeParse(event);
    if (data === undefined || (this.#layers.size >= LAYERS_MOST && !this.#layers.has(data.id))) return;
    const { id, status, progressDetail: { current = 0, total = 0 } = {} } = data;
    const known = this.#layers.get(id);
    if (status === 'Downloading') this.#layers.set(id, { doneBytes: current, totalBytes: Math.max(current, total) });
    else if (/^(Download|Pull) complete$/.test(status) && known !== undefined)
      this.#layers.set(id, { ...known, doneBytes: known.totalBytes });
  }

  sum(): PullProgress {
    const layers = [...this.#layers.values()];
    return {
      doneBytes: layers.reduce((sum, { doneBytes }) => sum + doneBytes, 0),
      totalBytes: layers.reduce((sum, { totalBytes }) => sum + totalBytes, 0),
    };
  }
}

const WITHIN_MS = 30 * 60_000;
const TRIES = 3;

export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

/** What is told of a pull. */
export type PullNews =
  | ({ readonly type: 'pulling'; readonly image: string } & PullProgress)
  | { readonly type: 'pulled'; readonly image: string; readonly ms: number; readonly bytes: number }
  | { readonly type: 'failed'; readonly image: string; readonly ms: number; readonly why: string };

export interface PullOptions {
  /**
   * The login of a registry; null: it has none. `refused`: the password that the registry did not take; null where there is no
   * other one. Throws `secret_unreadable`.
   */
  readonly login: (registry: string, refused: string | null) => Promise<RegistryLogin | null>;
  readonly onPull: (news: PullNews) => void;
  /** So often it is told how far a pull is. */
  readonly tellEachMs: number;
}

export const WITHOUT_LOGIN: PullOptions = { login: () => Promise.resolve(null), onPull: () => {}, tellEachMs: 0 };

/** Has the engine pull an image. Throws `image_unknown`, `secret_unreadable` and `engine_unreachable`. */
export async function pullImage(
  engine: EngineConnection,
  image: string,
  { login: loginOf, onPull, tellEachMs }: PullOptions,
  signal: AbortSignal,
): Promise<void> {
  const registry = registryOf(image);
  const begunAt = performance.now();
  const sinceMs = (): number => Math.round(performance.now() - begunAt);
  const within = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]);
  const layers = new PulledLayers();
  let toldAt = begunAt;
  const onProgress = (event: unknown): void => {
    layers.add(event);
    if (performance.now() - toldAt < tellEachMs) return;
    toldAt = performance.now();
    onPull({ type: 'pulling', image, ...layers.sum() });
  };
  let login = registry === null ? null : await loginOf(registry, null);
  for (let tries = 1; ; tries++) {
    const why = await pullOnce(engine, image, { login, onProgress }, within);
    if (why === null) return onPull({ type: 'pulled', image, ms: sinceMs(), bytes: layers.sum().doneBytes });
    signal.throwIfAborted();
    const another = registry === null || login === null ? null : await loginOf(registry, login.password);
    // A registry may lock out a user whose password is wrong again and again.
    const isRefused =
      login !== null && another === null && /unauthorized|authentication required|denied|forbidden/i.test(why);
    if (tries === TRIES || within.aborted || isRefused) {
      onPull({ type: 'failed', image, ms: sinceMs(), why });
      throw unpulled(image, why);
    }
    login = another ?? login;
  }
}

/** Why it could not be pulled; null: it was. A registry says no with a refusal, or within the stream. */
async function pullOnce(
  engine: EngineConnection,
  image: string,
  { login, onProgress }: { readonly login: RegistryLogin | null; readonly onProgress: (event: unknown) => void },
  signal: AbortSignal,
): Promise<string | null> {
  const authconfig = login === null ? {} : { authconfig: { ...login, serveraddress: registryOf(image) ?? '' } };
  try {
    const pull = (docker: Docker) => docker.pull(pulledName(image), { abortSignal: signal, ...authconfig });
    // An engine answers when the registry has, which may take long.
    const stream = await engine.ask('pulling the image', signal, pull, WITHIN_MS);
    return await new Promise((resolve) => {
      engine.docker.modem.followProgress(
        stream,
        (error: Error | null, said: readonly unknown[] | null) => resolve(error?.message ?? failureIn(said ?? [])),
        onProgress,
      );
    });
  } catch (error) {
    if (signal.aborted) return `it takes longer than ${WITHIN_MS / 60_000} minutes`;
    if (error instanceof HoldfastError || isAway(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

/** What the engine says of a pull that failed is in its stream, behind the status of success. */
function failureIn(said: readonly unknown[]): string | null {
  const failures = said.map((one): unknown => Reflect.get(Object(one), 'error'));
  return failures.find((failure): failure is string => typeof failure === 'string') ?? null;
}

export const unpulled = (image: string, why: string): HoldfastError =>
  new HoldfastError('image_unknown', `The engine cannot pull the image ${image}: ${why.trim().toWellFormed()}.`, {
    hint: 'Correct the name of the image, give `imagePolicy.credentials` of its registry, or pull it on the engine yourself.',
  });
