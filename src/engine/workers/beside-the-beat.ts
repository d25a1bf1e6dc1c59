/**
 * Work that the beat of a worker begins and does not wait for: one at a time, and waited for when the worker stops. `work` must not
 * throw.
 */
export function besideTheBeat(work: (isStopping: () => boolean) => Promise<void>) {
  let current: Promise<void> | null = null;
  let stopped = false;
  return {
    begin(): void {
      if (stopped) return;
      current ??= work(() => stopped).then(() => {
        current = null;
      });
    },
    async stop(): Promise<void> {
      stopped = true;
      await current;
    },
  };
}
