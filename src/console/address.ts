import { computed, signal } from '@preact/signals';

/** The address of what is on the screen. */
const place = signal(new URL(location.href));
addEventListener('popstate', () => {
  place.value = new URL(location.href);
});

export const path = computed(() => place.value.pathname);
export const params = computed(() => place.value.searchParams);
export const param = (name: string): string => params.value.get(name) ?? '';

/** Those of the parameters that have a value. */
export const paramsOf = (names: readonly string[]): { readonly [name: string]: string } =>
  Object.fromEntries(names.flatMap((name) => (param(name) === '' ? [] : [[name, param(name)]])));

/** Opens an address of the console. */
export function go(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const target = new URL(to, location.href);
  if (target.href === location.href) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', target);
  place.value = target;
  if (!replace) scrollTo(0, 0);
}

/** Changes parameters of the address, which adds nothing to the history. An empty one goes. */
export function setParams(changes: { readonly [name: string]: string }): void {
  const target = new URL(place.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') target.searchParams.delete(name);
    else target.searchParams.set(name, value);
  }
  go(target.href, { replace: true });
}

/** Lets links of the page open without loading it again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
  event.preventDefault();
  go(link.href);
}
