# The Vigil worker. Debian rather than Alpine: Temporal's native core is built against glibc.
FROM node:20.20.2-bookworm-slim AS build
WORKDIR /app
# For the case that better-sqlite3 has no prebuilt binary for this platform.
RUN apt-get update && apt-get install --yes --no-install-recommends python3 make g++ && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN node --input-type=module --eval "import { ensureReady } from './bin/bootstrap.mjs'; await ensureReady({ build: true })" \
  && npm prune --omit=dev

# Without tsconfig.build.json the command neither installs nor compiles: it runs what is here.
FROM node:20.20.2-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
RUN mkdir /data && chown node:node /data
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
COPY bin bin
COPY examples examples
RUN ln -s /app/bin/vigil.mjs /usr/local/bin/vigil && chmod +x bin/vigil.mjs
USER node
VOLUME /data
# The exec form, so that SIGTERM reaches the worker and it can finish what it runs.
ENTRYPOINT ["node", "bin/vigil.mjs"]
CMD ["worker"]
