import { ActivityWorld } from './activity-world.js';
import { TestProviders } from './provider.js';

interface Given {
  providers: TestProviders;
  world: ActivityWorld;
}

/** Registers with the calling file: providers for all of its tests, which say the content, and a world for each of them. */
export function givenProviders(give: (given: Given) => void, content?: string): void {
  let providers: TestProviders;
  let world: ActivityWorld;
  beforeAll(async () => {
    providers = await TestProviders.start();
  });
  afterAll(() => providers.stop());
  beforeEach(async () => {
    world = await ActivityWorld.open();
    if (content !== undefined) providers.says({ content });
    give({ providers, world });
  });
  afterEach(async () => {
    providers.reset();
    await world.close();
  });
}
