import type { ComponentType, JSX } from 'preact';
import { NotLoaded, useLoaded } from './loaded.js';

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
