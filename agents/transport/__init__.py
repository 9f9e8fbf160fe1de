"""How records come to the agents: our Transport and Consumer for Faust, which hand records over in chunks."""
