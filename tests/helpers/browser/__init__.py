"""What the browser tests share: pages, moves of controls, servers, and the report."""
