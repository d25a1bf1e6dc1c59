import type { Page } from 'playwright-core';

/** Counts what a person does: keys, and clicks or taps. Text that is typed counts as none. */
export class Hand {
  readonly #page: Page;
  count = 0;
  constructor(page: Page) {
    this.#page = page;
  }
  async key(name: string): Promise<void> {
    this.count++;
    await this.#page.keyboard.press(name);
  }
  async click(what: ReturnType<Page['getByRole']>): Promise<void> {
    this.count++;
    await what.click();
  }
  async tap(what: ReturnType<Page['getByRole']>): Promise<void> {
    this.count++;
    await what.tap();
  }
}
