/** Reads a list of a session page by page, from where it was read to, whenever there is more. */
import { RelayError } from "./relay.js";

export class PageReader {
  /** `take` is given each page, in order. */
  constructor(store, path, limit, take) {
    Object.assign(this, { store, path, limit, take, cursor: undefined, isReading: false, isAsked: false });
  }

  /** Read on until there is no more; one reading at a time. */
  async pull() {
    this.isAsked = true;
    if (this.isReading) return;
    this.isReading = true;
    try {
      while (this.isAsked) {
        this.isAsked = false;
        await this.#readPages();
      }
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
    } finally {
      this.isReading = false;
    }
  }

  async #readPages() {
    let more = true;
    while (more) {
      const page = await this.store.get(this.path, { cursor: this.cursor, limit: this.limit });
      this.cursor = page.next_cursor;
      more = page.has_more;
      this.take(page);
    }
  }
}
