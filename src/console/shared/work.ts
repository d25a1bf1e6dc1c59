import { useRef, useState } from 'preact/hooks';
import { exactText } from '../text/exact.js';

interface Work {
  readonly busy: boolean;
  /** Why the last one failed; null: it did not. */
  readonly trouble: Error | null;
  readonly work: (task: () => Promise<void>) => void;
}

/** Something that a person asks for: whether it goes on, and why it failed. Asked again meanwhile, it is not done twice. */
export function useWork(): Work {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Error | null>(null);
  const isAtWork = useRef(false);
  const run = async (task: () => Promise<void>): Promise<void> => {
    if (isAtWork.current) return;
    isAtWork.current = true;
    setBusy(true);
    setTrouble(null);
    try {
      await task();
    } catch (error) {
      setTrouble(error instanceof Error ? error : new Error(String(error)));
    } finally {
      isAtWork.current = false;
      setBusy(false);
    }
  };
  return { busy, trouble, work: (task) => void run(task) };
}

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
