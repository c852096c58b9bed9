#!/bin/bash
# Conditional breakpoint example

BASE_URL="http://localhost:5679/api/v1"

# Create session
SESSION_ID=$(curl -s -X POST "$BASE_URL/sessions" \
  -H "Content-Type: application/json" \
  -d '{"name": "loop-debug"}' | jq -r '.data.session_id')

# Set conditional breakpoint - only break when item count > 100
curl -s -X POST "$BASE_URL/sessions/$SESSION_ID/breakpoints" \
  -H "Content-Type: application/json" \
  -d '{
    "breakpoints": [
      {
        "source": {"path": "/Users/dev/myproject/processor.py"},
        "line": 42,
        "condition": "len(items) > 100"
      }
    ]
  }'

# Set a hit-count breakpoint - break on the 50th iteration
curl -s -X POST "$BASE_URL/sessions/$SESSION_ID/breakpoints" \
  -H "Content-Type: application/json" \
  -d '{
    "breakpoints": [
      {
        "source": {"path": "/Users/dev/myproject/processor.py"},
        "line": 45,
        "hit_condition": "== 50"
      }
    ]
  }'

# Set a logpoint - log without stopping
curl -s -X POST "$BASE_URL/sessions/$SESSION_ID/breakpoints" \
  -H "Content-Type: application/json" \
  -d '{
    "breakpoints": [
      {
        "source": {"path": "/Users/dev/myproject/processor.py"},
        "line": 48,
        "log_message": "Processing item {i}: {item.name}"
      }
    ]
  }'

# Launch
curl -s -X POST "$BASE_URL/sessions/$SESSION_ID/launch" \
  -H "Content-Type: application/json" \
  -d '{"script": "/Users/dev/myproject/processor.py"}'

# Poll and inspect when stopped
# ... (same polling pattern as basic example)
