import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { silentSince } from '../api/query.js';

/** Code of the console that is loaded when it is needed. */
interface Loaded<T> {
  /** Undefined: not there yet. */
  readonly code: T | undefined;
  /** Whether it could not be loaded: the server is away, or another build serves other files. */
  readonly failed: boolean;
}

/** What was loaded before is there at once. */
const KNOWN = new Map<unknown, unknown>();

/** Loads code, and tries again after the server was away. */
export function useLoaded<T>(load: () => Promise<T>): Loaded<T> {
  const [tried, setTried] = useState<{ readonly of: unknown }>({ of: null });
  const isAway = silentSince.value !== null;
  const code = KNOWN.get(load) as T | undefined;
  useEffect(() => {
    if (code !== undefined) return;
    const tell = (): void => setTried({ of: load });
    load().then((loaded) => {
      KNOWN.set(load, loaded);
      tell();
    }, tell);
  }, [load, isAway]);
  return { code, failed: code === undefined && tried.of === load };
}

/** In place of code that could not be loaded. */
export const NotLoaded = (): JSX.Element => (
  <section class="empty" role="alert">
    <h2>This page could not be loaded</h2>
    <p>The server is away, or it was updated since this browser opened the console.</p>
    <p>
      <button type="button" onClick={() => location.reload()}>
        Load the console again
      </button>
    </p>
  </section>
);

/** A view whose code is loaded when it is first drawn. */
export function lazyView<Props extends object>(
  load: () => Promise<{ readonly View: ComponentType<Props> }>,
): (props: Props) => JSX.Element {
  return (props) => {
    const { code, failed } = useLoaded(load);
    if (failed) return <NotLoaded />;
    return code === undefined ? <div class="loading" /> : <code.View {...props} />;
  };
}
