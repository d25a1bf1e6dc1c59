import type { InterruptionView } from '../../../core/interruptions/interruption.js';
import type { Client } from '../../client.js';
import { itemsOf } from '../../pages.js';
import type { ServerReturn } from '../../server-return.js';

/** What of the inbox is asked for. */
export type InboxFilter = NonNullable<Parameters<Client['listInterruptions']>[0]>;

interface Source {
  readonly client: Client;
  readonly server: ServerReturn;
}

/**
 * What a person can decide, oldest first and each once; what comes while they decide follows. Each is read again when its turn
 * comes: another person may have decided it, and a list cuts what is large.
 */
export async function* pendingItems(
  { client, server }: Source,
  filter: InboxFilter,
): AsyncGenerator<InterruptionView, void> {
  const listed = (cursor: string | undefined) =>
    server.ask(() => client.listInterruptions({ ...filter, status: 'pending', cursor }));
  const seen = new Set<string>();
  for (let before = -1; before < seen.size; ) {
    before = seen.size;
    for await (const { id } of itemsOf(listed)) {
      if (seen.has(id)) continue;
      seen.add(id);
      const now = await server.ask(() => client.getInterruption(id));
      if (now.status === 'pending' && now.verdicts.length > 0) yield now;
    }
  }
}
