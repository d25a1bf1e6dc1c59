import { useRef } from 'preact/hooks';
import { exactText } from '../text/exact.js';

/** The idempotency key of a request: the same for the same body, so that a second try makes nothing twice. */
export function useRequestKey(): (body: object) => string {
  const keys = useRef(new Map<string, string>());
  return (body) => {
    const text = exactText(body);
    const key = keys.current.get(text) ?? crypto.randomUUID();
    keys.current.set(text, key);
    return key;
  };
}
