export default async function stopServer() {
  await globalThis.vigilTestServer?.stop();
}
