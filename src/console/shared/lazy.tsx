import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** A view whose code is loaded when it is first drawn. */
export function lazyView<Props extends object>(
  load: () => Promise<{ readonly View: ComponentType<Props> }>,
): (props: Props) => JSX.Element {
  let loaded: ComponentType<Props> | null = null;
  return (props) => {
    const [, draw] = useState({});
    useEffect(() => {
      if (loaded !== null) return;
      void load().then(({ View }) => {
        loaded = View;
        draw({});
      });
    }, []);
    const View = loaded;
    return View === null ? <div class="loading" /> : <View {...props} />;
  };
}
