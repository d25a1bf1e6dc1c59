import { z } from 'zod';

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
export interface PullProgress {
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
