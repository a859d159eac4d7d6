
BgammaJB>"4>¹<l0:(ºt=