if ! command -v skills-mcp; then
  if [ -z "$SKILLS_MCP_GIT" ]; then
    echo "skills-mcp is not installed, and the variable SKILLS_MCP_GIT does not say where to install it from." >&2
    exit 1
  fi
  # The program becomes larger with these settings, and is built in a fraction of the time.
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
  cargo install --locked --git "$SKILLS_MCP_GIT" ${SKILLS_MCP_REV:+--rev "$SKILLS_MCP_REV"} skills-mcp-server
fi
skills-mcp --version
