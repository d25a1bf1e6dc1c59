import { vi } from 'vitest';

/** What a piece of work prints, in whatever way. */
export async function printed(work: () => Promise<void>): Promise<unknown[]> {
  const spies = [
    ...(['log', 'info', 'warn', 'error', 'debug'] as const).map((method) => vi.spyOn(console, method)),
    vi.spyOn(process.stdout, 'write'),
    vi.spyOn(process.stderr, 'write'),
  ];
  try {
    await work();
    return spies.flatMap((spy) => spy.mock.calls);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
