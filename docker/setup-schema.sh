#!/bin/sh
# Creates and updates the two databases of Temporal. Safe to repeat: each step leaves what exists as it is.
# The connection comes from SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD, which temporal-sql-tool reads itself.
set -eu

for pair in "$DBNAME:temporal" "$VISIBILITY_DBNAME:visibility"; do
  database=${pair%%:*}
  schema=${pair##*:}
  echo "schema of $database"
  temporal-sql-tool --database "$database" create-database
  temporal-sql-tool --database "$database" setup-schema --version 0.0
  temporal-sql-tool --database "$database" update-schema --schema-name "postgresql/v12/$schema"
done
echo "schema ready"
