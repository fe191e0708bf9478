import { openStore } from '../../../store/open-store.js';
import type { SessionStore } from '../../../store/session-store.js';

/** A fresh, empty place for a store. */
export interface StorePlace {
  location: string;
  remove(): Promise<void>;
}

export type CreateStore = () => Promise<StorePlace>;

/** One open store a test; `another` is a second handle on the same data, as another process has it. */
export class StoreFixture {
  readonly #create: CreateStore;
  #place: StorePlace | undefined;
  #open: SessionStore[] = [];

  constructor(create: CreateStore) {
    this.#create = create;
  }

  async setUp(): Promise<void> {
    this.#place = await this.#create();
    this.#open = [];
    await this.another();
  }

  async tearDown(): Promise<void> {
    await Promise.all(this.#open.map((store) => store.close()));
    await this.#place?.remove();
  }

  get store(): SessionStore {
    const [store] = this.#open;
    if (!store) throw new Error('the store fixture is not set up');
    return store;
  }

  get location(): string {
    if (!this.#place) throw new Error('the store fixture is not set up');
    return this.#place.location;
  }

  async another(): Promise<SessionStore> {
    const store = await openStore(this.location);
    this.#open.push(store);
    return store;
  }
}
