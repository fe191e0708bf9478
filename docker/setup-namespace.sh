#!/bin/sh
# Creates Vigil's namespace and search attributes, then waits until workflows can really start there. Safe to repeat.
# The server's address comes from TEMPORAL_ADDRESS, which the temporal command reads itself.
set -eu

attempts=120 # one a second

# wait_for WHAT COMMAND...: repeats the command until it succeeds; gives up with its last words.
wait_for() {
  what=$1
  shift
  left=$attempts
  until said=$("$@" 2>&1); do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then
      echo "gave up waiting for $what after $attempts tries; last answer: $said" >&2
      exit 1
    fi
    sleep 1
  done
  echo "$what: done"
}

serving() {
  temporal operator cluster health
}

namespace_exists() {
  temporal operator namespace describe --namespace "$VIGIL_NAMESPACE" && return 0
  temporal operator namespace create --namespace "$VIGIL_NAMESPACE" --retention "$NAMESPACE_RETENTION"
}

# Creating an attribute that is there with the same type changes nothing and succeeds.
attributes_exist() {
  temporal operator search-attribute create --namespace "$VIGIL_NAMESPACE" \
    --name VigilAgent --type Keyword --name VigilTenant --type Keyword --name VigilAttention --type Keyword
}

# A namespace can be described before the services know it. "workflow not found" is the answer of one that they do know.
usable() {
  answer=$(temporal workflow describe --namespace "$VIGIL_NAMESPACE" --workflow-id nonesuch 2>&1) || true
  case $answer in
    *"workflow not found"*) return 0 ;;
  esac
  echo "$answer"
  return 1
}

wait_for "Temporal server" serving
wait_for "namespace $VIGIL_NAMESPACE" namespace_exists
wait_for "search attributes" attributes_exist
wait_for "namespace $VIGIL_NAMESPACE in use" usable
echo "namespace ready"
