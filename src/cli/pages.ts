import { type Page, wholeItems } from '../core/page.js';

/** Reads a list to its end, a page at a time. */
export async function* pagesOf<T>(
  read: (cursor: string | undefined) => Promise<Page<T>>,
): AsyncGenerator<Page<T>, void> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    yield page;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/** Every item of a list. Throws `row_changed` for one that cannot be read. */
export async function* itemsOf<T>(read: (cursor: string | undefined) => Promise<Page<T>>): AsyncGenerator<T, void> {
  for await (const page of pagesOf(read)) yield* wholeItems(page);
}
